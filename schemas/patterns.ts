import { EMAIL_PATTERN } from './auth.ts'

export const PLAIN_TEXT_PATTERN = '^[^\\u0000\\uD800-\\uDFFF]*$'
export const ID_PATTERN = '^[0-9A-Za-z_]{1,64}$'
export const DEFINITION_ID_PATTERN = '^[0-9A-Za-z_.-]{1,64}$'
/** An action of the audit log, or the domain of many with its dot. */
export const ACTION_PATTERN = '^[a-z_]{1,40}\\.[a-z_]{0,40}$'
export const LANGUAGE_PATTERN = '^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$'
export const MONTH_PATTERN = '^(19|20|21)[0-9]{2}-(0[1-9]|1[0-2])$'

/** The end of a message about a text that a pattern refuses; its place comes before it. */
export const TEXT_BY_PATTERN: Readonly<Record<string, string>> = {
  [PLAIN_TEXT_PATTERN]: 'must be Unicode text without NUL characters',
  [ID_PATTERN]: 'must be an id: 1 to 64 letters, digits and underscores',
  [DEFINITION_ID_PATTERN]: 'must be 1 to 64 letters, digits, dots, hyphens and underscores',
  [ACTION_PATTERN]: 'must be an action such as model.deploy, or all of a domain such as model.',
  [LANGUAGE_PATTERN]: 'must be a language tag such as de or de-DE, with hyphens',
  [MONTH_PATTERN]: 'must be a month such as 2026-10',
  [EMAIL_PATTERN]: 'must be an email address',
}
