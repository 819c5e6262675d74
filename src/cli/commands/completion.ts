import { wordValue } from '../../params/values.js'
import type { Command } from '../command.js'

const SHELLS = ['bash', 'zsh', 'fish'] as const
type Shell = (typeof SHELLS)[number]

export const command: Command = {
  arguments: [['<SHELL>', SHELLS.join(', '), SHELLS]],
  examples: ['bands completion bash', 'bands completion zsh', 'bands completion fish | source'],
  notes: [
    'Prints a script that lets the shell complete commands, options and their values, fields, the bands of the field that was typed, and the tickers that are loaded.',
    'For good: source <(bands completion bash) as a line of ~/.bashrc; the same with zsh in ~/.zshrc, below compinit; for fish: bands completion fish > ~/.config/fish/completions/bands.fish.',
  ],
  async run(context, given) {
    const shell = wordValue('shell', given.argument(0)!, SHELLS)
    const script = SCRIPTS[shell]
    if (context.isForPeople) return context.out.write(script)
    const lines = script.trimEnd().split('\n')
    await context.show({
      document: () => ({ schema: 'bands.completion/1', shell, script }),
      columns: ['line'],
      rows: () => lines.map(line => ({ line })),
      blocks: () => [],
    })
  },
}

/** Each asks `bands completion --complete` for the words that may stand there; `:files` leaves it to the shell. */
const SCRIPTS: Readonly<Record<Shell, string>> = {
  bash: `# Completion of bands for bash.
_bands() {
  local line files='' IFS=$'\\n'
  COMPREPLY=()
  while read -r line; do
    if [[ $line == :files ]]; then files=1; else COMPREPLY+=("\${line%%$'\\t'*}"); fi
  done < <("$1" completion --complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  if [[ $files && \${#COMPREPLY[@]} == 0 ]]; then
    compopt -o default 2>/dev/null || COMPREPLY=($(compgen -f -- "$2"))
  fi
}
complete -F _bands bands
`,
  zsh: `#compdef bands
# Completion of bands for zsh.
_bands() {
  local -a found shown
  local line files=''
  while IFS= read -r line; do
    if [[ $line == :files ]]; then
      files=1
    else
      found+=("\${line%%$'\\t'*}")
      shown+=("\${line/$'\\t'/  }")
    fi
  done < <("\${words[1]}" completion --complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
  (( \${#found} )) && compadd -M 'm:{a-zA-Z}={A-Za-z}' -l -d shown -a found
  if [[ -n $files ]]; then _files; fi
}
if [[ $funcstack[1] == _bands ]]; then _bands "$@"; else compdef _bands bands; fi
`,
  fish: `# Completion of bands for fish.
function __bands_complete
    set -l words (commandline -opc)
    set -e words[1]
    set -l current (commandline -ct)
    for line in (bands completion --complete -- $words "$current" 2>/dev/null)
        if test "$line" = ":files"
            __fish_complete_path "$current"
        else
            printf '%s\\n' $line
        end
    end
end
complete -c bands -f -a '(__bands_complete)'
`,
}
