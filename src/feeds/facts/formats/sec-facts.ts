import { AS_FILED } from '../assumed.js'
import { type FiledFact, isCounted, isReportForm, REPORT_CONCEPTS, reportsOfFilings } from '../filings.js'
import { factsFormat } from '../format.js'

/** Single facts as they stand in filings with the SEC, one a row. */
export const SEC_FACTS = factsFormat({
  name: 'SEC facts csv',
  told: ['concept', 'unit', 'start', 'end', 'value', 'form', 'filed'],
  reads: {
    concept: 'text',
    unit: 'text',
    start: 'date',
    end: 'date',
    value: 'number',
    form: 'text',
    filed: 'date',
  },
  begin: out => {
    const filed = new Map<string, FiledFact[]>()
    return {
      row(row) {
        const { ticker, place } = row
        const fact: FiledFact = {
          concept: row.required('concept'),
          unit: row.required('unit'),
          start: row.optional('start'),
          end: row.required('end'),
          value: row.required('value'),
          form: row.required('form'),
          filed: row.required('filed'),
        }
        if (!REPORT_CONCEPTS.has(fact.concept)) out.remark('facts are of concepts that no report is made of', place)
        else if (!isReportForm(fact.form))
          out.remark('facts stand in filings other than reports and are not read', place)
        else if (!isCounted(fact.concept, fact.unit)) out.remark('facts are in units that are not read', place)
        const facts = filed.get(ticker)
        if (facts === undefined) filed.set(ticker, [fact])
        else facts.push(fact)
      },
      end() {
        for (const [ticker, facts] of filed)
          for (const report of reportsOfFilings(facts)) {
            out.add('reports', ticker, report)
            if (report.eps !== null || report.book_value_ps !== null) out.remark(AS_FILED, ticker)
          }
      },
    }
  },
})
