/** What several kinds of files leave open alike, as it is told of each. */

export const AS_FILED =
  'figures a share are as filed; they reach the split basis of the bars by the splits that are loaded for the ticker'
export const FILED_LATER = 'trades count as known two weekdays after their date, as no date of filing is given'
export const WITHOUT_SHARES = 'purchases and sales without a number of shares are not loaded'
