// dist/schemas.json: a JSON Schema (draft 2020-12) of every answer that names its `schema`, read from the types in the
// sources, by name: `tally` is that of `bands.tally/1`. Nothing about an answer is written a second time for it.
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const DRAFT = 'https://json-schema.org/draft/2020-12/schema'
const NAME = /^bands\.([a-z-]+)\/\d+$/

// TypeScript 7 has no interface for programs; this package brings an older one for itself.
const ts = createRequire(createRequire(import.meta.url).resolve('dts-bundle-generator'))('typescript')

writeSchemas(process.argv[2])

/** Writes schemas.json into a folder. */
function writeSchemas(folder) {
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), ts.sys.readFile)
  const { fileNames, options } = ts.parseJsonConfigFileContent({ ...config, include: ['src'] }, ts.sys, ROOT)
  const program = ts.createProgram(fileNames, options)
  const checker = program.getTypeChecker()
  const schemas = {}
  for (const [name, answers] of answersIn(program, checker)) schemas[name] = schemaOfAll(checker, answers)
  const sorted = Object.fromEntries(Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1)))
  writeFileSync(join(folder, 'schemas.json'), `${JSON.stringify(sorted)}\n`)
}

/** The schema of the places that write one answer. Refuses two shapes: only one of them would be published. */
function schemaOfAll(checker, answers) {
  const schemas = answers.map(({ id, type }) => schemaOfAnswer(checker, id, type))
  if (distinct(schemas).length === 1) return schemas[0]
  const places = answers.map(({ node }) => {
    const file = node.getSourceFile()
    return `${file.fileName}:${file.getLineAndCharacterOfPosition(node.getStart()).line + 1}`
  })
  throw new Error(`${places.join(' and ')} write ${answers[0].id} in different shapes; write it once`)
}

/** Types that name their schema: what the command line writes before a declared type, that before other objects. */
function answersIn(program, checker) {
  const written = new Map()
  const declared = new Map()
  const printed = new Map()
  const visit = node => {
    const id = schemaNamedBy(node, checker)
    if (id !== undefined) {
      const into = ts.isPropertySignature(node) ? declared : inDoor(node) ? printed : written
      const [, name] = NAME.exec(id)
      const answer = { id, type: checker.getTypeAtLocation(node.parent), node }
      into.set(name, [...(into.get(name) ?? []), answer])
    }
    ts.forEachChild(node, visit)
  }
  for (const file of program.getSourceFiles())
    if (file.fileName.includes('/src/') && !file.isDeclarationFile) visit(file)
  return new Map([...written, ...declared, ...printed])
}

function inDoor(node) {
  return node.getSourceFile().fileName.includes('/src/app/cli/')
}

/** `bands.now/1` of `schema: 'bands.now/1'`, in a type or in an object. */
function schemaNamedBy(node, checker) {
  if (!ts.isPropertySignature(node) && !ts.isPropertyAssignment(node) && !ts.isShorthandPropertyAssignment(node))
    return undefined
  if (node.name.getText() !== 'schema') return undefined
  const shorthand = ts.isShorthandPropertyAssignment(node)
  const value = ts.isPropertyAssignment(node) ? node.initializer : node.name
  const symbol = shorthand ? checker.getShorthandAssignmentValueSymbol(node) : undefined
  const type = symbol === undefined ? checker.getTypeAtLocation(value) : checker.getTypeOfSymbolAtLocation(symbol, node)
  return type.isStringLiteral() && NAME.test(type.value) ? type.value : undefined
}

function distinct(schemas) {
  return [...new Map(schemas.map(schema => [JSON.stringify(schema), schema])).values()]
}

/** What JSON makes of a type. Types with a name stand once, in `$defs`. */
function schemaOfAnswer(checker, id, answer) {
  const names = new Map()
  const $defs = {}

  function schemaOf(type) {
    const { flags } = type
    if (type.isStringLiteral() || type.isNumberLiteral()) return { const: type.value }
    if (flags & ts.TypeFlags.BooleanLiteral) return { const: checker.typeToString(type) === 'true' }
    if (flags & ts.TypeFlags.StringLike) return { type: 'string' }
    if (flags & ts.TypeFlags.NumberLike) return { type: 'number' }
    if (flags & ts.TypeFlags.BooleanLike) return { type: 'boolean' }
    if (flags & ts.TypeFlags.Null) return { type: 'null' }
    if (flags & ts.TypeFlags.AnyOrUnknown) return {}
    if (type.isUnion()) return schemaOfUnion(type.types)
    if (checker.isTupleType(type)) return schemaOfTuple(type)
    if (checker.isArrayType(type)) return { type: 'array', items: schemaOf(checker.getTypeArguments(type)[0]) }
    // `'a' | (string & {})`: a text, some of which have names.
    if (type.isIntersection() && type.types.some(part => part.flags & ts.TypeFlags.StringLike))
      return { type: 'string' }
    if (flags & ts.TypeFlags.Object || type.isIntersection()) return named(type)
    throw new Error(`JSON has nothing for ${checker.typeToString(type)}`)
  }

  function schemaOfUnion(types) {
    const members = types.filter(type => !(type.flags & ts.TypeFlags.Undefined))
    const literals = members.filter(type => type.isStringLiteral() || type.isNumberLiteral())
    const booleans = members.filter(type => type.flags & ts.TypeFlags.BooleanLiteral)
    const whole = booleans.length === 2 ? [{ type: 'boolean' }] : booleans.map(schemaOf)
    const others = members.filter(type => !literals.includes(type) && !booleans.includes(type)).map(schemaOf)
    const words = literals.length > 1 ? [{ enum: literals.map(type => type.value) }] : literals.map(schemaOf)
    // A name of ours or of a user's own is a text either way.
    const all = distinct([...words, ...whole, ...others])
    if (all.length === 1) return all[0]
    const plain = all.every(schema => Object.keys(schema).join() === 'type')
    return plain ? { type: all.map(schema => schema.type) } : { anyOf: all }
  }

  function schemaOfTuple(type) {
    const prefixItems = checker.getTypeArguments(type).map(schemaOf)
    return { type: 'array', prefixItems, minItems: type.target.minLength, items: false }
  }

  function named(type) {
    const symbol = type.aliasSymbol ?? type.symbol
    const name = symbol?.name ?? '__type'
    const generic = (type.aliasTypeArguments ?? []).length > 0
    if (name.startsWith('__') || generic || type === answer) return schemaOfObject(type)
    if (!names.has(type)) {
      const taken = [...names.values()].filter(other => other.replace(/\d+$/, '') === name).length
      const own = taken === 0 ? name : `${name}${taken + 1}`
      names.set(type, own)
      $defs[own] = schemaOfObject(type)
    }
    return { $ref: `#/$defs/${names.get(type)}` }
  }

  function schemaOfObject(type) {
    if (type.getCallSignatures().length > 0) throw new Error(`JSON has no functions: ${checker.typeToString(type)}`)
    const properties = {}
    const required = []
    for (const property of checker.getPropertiesOfType(type)) {
      const own = checker.getTypeOfSymbol(property)
      const description = ts.displayPartsToString(property.getDocumentationComment(checker))
      const optional = own.isUnion() && own.types.some(isUndefined)
      if (isUndefined(own)) continue
      properties[property.name] = { ...schemaOf(own), ...(description !== '' && { description }) }
      if (!(property.flags & ts.SymbolFlags.Optional) && !optional) required.push(property.name)
    }
    const [others] = checker.getIndexInfosOfType(type)
    return {
      type: 'object',
      ...(Object.keys(properties).length > 0 && { properties }),
      ...(required.length > 0 && { required }),
      ...(others !== undefined && { additionalProperties: schemaOf(others.type) }),
    }
  }

  const isUndefined = type => Boolean(type.flags & ts.TypeFlags.Undefined)
  const schema = { $schema: DRAFT, title: id, ...schemaOfObject(answer) }
  schema.properties = { ...schema.properties, schema: { const: id } }
  return Object.keys($defs).length > 0 ? { ...schema, $defs } : schema
}
