import { quote } from '../build/notes.ts'
import { readDecimal } from '../build/ranges.ts'
import { type Element, findChildren } from './xml.ts'

const NUMBERS = ['lowValue', 'highValue'] as const
const REPLACEMENTS = ['missingValueReplacement', 'invalidValueReplacement'] as const
const MARGINS = ['leftMargin', 'rightMargin'] as const
const OUTLIERS = ['asIs', 'asMissingValues', 'asExtremeValues']
const CLOSURES = ['openOpen', 'openClosed', 'closedOpen', 'closedClosed']
const PROPERTIES = ['valid', 'invalid', 'missing']

/**
 * Returns what this service can't read in a field, as messages: ignoring it would change scores.
 */
export function listUnread(data: Element, mining: Element, isNumeric: boolean): string[] {
  const values = findChildren(data, 'Value')
  const intervals = findChildren(data, 'Interval')
  return [
    ...notNumbers(mining, isNumeric ? [...NUMBERS, ...REPLACEMENTS] : NUMBERS),
    ...findUnlisted(mining, 'outliers', OUTLIERS),
    ...intervals.flatMap((interval) => notNumbers(interval, MARGINS)),
    ...intervals.flatMap((interval) => findUnlisted(interval, 'closure', CLOSURES, true)),
    ...values.flatMap((value) => findUnlisted(value, 'property', PROPERTIES)),
    ...values.flatMap((value) => {
      if (value.attributes['value'] === undefined) return ['has a Value without a value']
      return isNumeric ? notNumbers(value, ['value']) : []
    }),
  ]
}

function notNumbers({ attributes }: Element, names: readonly string[]): string[] {
  return names.flatMap((name) => {
    const text = attributes[name]
    if (text === undefined || readDecimal(text) !== null) return []
    return [`has the ${name} ${quote(text)}, which is not a number`]
  })
}

function findUnlisted(
  { attributes }: Element,
  name: string,
  known: readonly string[],
  isRequired = false,
): string[] {
  const text = attributes[name]
  if (text === undefined ? !isRequired : known.includes(text)) return []
  return [`has the ${name} ${quote(text ?? '')}, which must be one of ${known.join(', ')}`]
}
