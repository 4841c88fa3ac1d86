import { type IssueList, isObject, quote, readNumber, typeName } from './issues.ts'
import {
  BASELINE_BASES,
  FEATURE_SOURCES,
  hasReasons,
  LANGUAGE_CHARS_MAX,
  LANGUAGE_TAG,
  LANGUAGES_MAX,
  REASON_AGGREGATES,
  REASON_CODE_CHARS_MAX,
  REASON_CODES_MAX,
  REASON_METHODS,
  REASONS_DEFAULT,
  REASONS_MAX,
  TEXT_CHARS_MAX,
} from './reason-spec.ts'

const SETTINGS: ReadonlySet<string> = new Set([
  'version',
  'method',
  'max',
  'aggregate',
  'min_distance',
  'texts_version',
  'baseline_basis',
])

/**
 * Checks the part of a specification that explains its scores. Without `reasons.version` 1 there is
 * nothing to check.
 */
export function checkReasons(
  input: Record<string, unknown>,
  faults: IssueList,
  warnings: IssueList,
): void {
  if (!hasReasons(input)) return
  const settings = input['reasons'] as Record<string, unknown>
  checkSettings(settings, faults, warnings)
  const codes = checkCodes(input['reason_codes'], faults)
  const { features } = input
  if (!Array.isArray(features)) return
  const isFixed = settings['method'] === 'fixed'
  let eligible = 0
  for (const [index, feature] of features.entries()) {
    if (!isObject(feature)) continue
    const path = `features[${index}]`
    checkFeature(feature, path, { codes, isFixed, faults, warnings })
    if (feature['reason_eligible'] !== false) eligible++
  }
  if (eligible === 0 && features.length > 0) {
    faults.add('features', 'are all without reason_eligible, so that no score could have a reason')
  }
}

function checkSettings(
  settings: Record<string, unknown>,
  faults: IssueList,
  warnings: IssueList,
): void {
  for (const name of Object.keys(settings)) {
    if (!SETTINGS.has(name)) warnings.add(`reasons.${quote(name)}`, 'is unknown and has no effect')
  }
  const { method, max, aggregate, min_distance, texts_version, baseline_basis } = settings
  checkAllowed(method, REASON_METHODS, 'reasons.method', faults)
  if (max !== undefined) checkMax(max, faults, warnings)
  if (aggregate !== undefined) {
    checkAllowed(aggregate, REASON_AGGREGATES, 'reasons.aggregate', faults)
  }
  if (min_distance !== undefined) checkNotNegative(min_distance, 'reasons.min_distance', faults)
  if (texts_version !== undefined) checkText(texts_version, 'reasons.texts_version', faults)
  if (baseline_basis !== undefined || method === 'fixed') {
    checkAllowed(baseline_basis, BASELINE_BASES, 'reasons.baseline_basis', faults)
  }
}

function checkMax(max: unknown, faults: IssueList, warnings: IssueList): void {
  if (!Number.isInteger(max) || Number(max) < 1 || Number(max) > REASONS_MAX) {
    faults.add('reasons.max', `must be a whole number from 1 to ${REASONS_MAX}`)
  } else if (Number(max) > REASONS_DEFAULT) {
    warnings.add('reasons.max', 'is above 4: more than four reasons are unlikely to help')
  }
}

/** @returns the codes that features and bins may have; null: any */
function checkCodes(value: unknown, faults: IssueList): ReadonlySet<string> | null {
  if (value === undefined) return null
  if (!isObject(value)) {
    faults.add('reason_codes', `must be an object of texts by code, but ${typeName(value)}`)
    return null
  }
  const codes = Object.entries(value)
  if (codes.length > REASON_CODES_MAX) {
    faults.add('reason_codes', `must be at most ${REASON_CODES_MAX}, but are ${codes.length}`)
    return null
  }
  for (const [code, texts] of codes) {
    const path = `reason_codes.${code.length > REASON_CODE_CHARS_MAX ? quote(code) : code}`
    checkCode(code, path, faults)
    if (isObject(texts)) checkTexts(texts, path, faults)
    else faults.add(path, `must be an object of texts by language, but ${typeName(texts)}`)
  }
  return new Set(codes.map(([code]) => code))
}

interface FeatureCheck {
  readonly codes: ReadonlySet<string> | null
  readonly isFixed: boolean
  readonly faults: IssueList
  readonly warnings: IssueList
}

function checkFeature(feature: Record<string, unknown>, path: string, check: FeatureCheck): void {
  const { faults, isFixed } = check
  const { label, source, reason_code, reason_baseline, reason_eligible } = feature
  if (label !== undefined) checkLabel(label, `${path}.label`, faults)
  if (source !== undefined) checkAllowed(source, FEATURE_SOURCES, `${path}.source`, faults)
  checkUsedCode(reason_code, `${path}.reason_code`, check)
  if (reason_baseline !== undefined) {
    readNumber(reason_baseline, `${path}.reason_baseline`, faults)
  } else if (isFixed && reason_eligible !== false) {
    faults.add(`${path}.reason_baseline`, 'is missing: the method fixed wants one')
  }
  for (const name of ['reason_eligible', 'inquiry_factor', 'actionable'] as const) {
    const flag = feature[name]
    if (flag === undefined || typeof flag === 'boolean') continue
    faults.add(`${path}.${name}`, `must be true or false, but ${typeName(flag)}`)
  }
  const { bins } = feature
  if (!Array.isArray(bins)) return
  for (const [index, bin] of bins.entries()) {
    if (isObject(bin)) checkBin(bin, `${path}.bins[${index}]`, check)
  }
  if (reason_eligible === false) warnIfScored(bins, path, check.warnings)
}

function checkBin(bin: Record<string, unknown>, path: string, check: FeatureCheck): void {
  const { faults } = check
  if (bin['label'] !== undefined) checkLabel(bin['label'], `${path}.label`, faults)
  checkUsedCode(bin['reason_code'], `${path}.reason_code`, check)
}

/** A factor that was scored and can't be a reason hides why somebody was declined. */
function warnIfScored(bins: readonly unknown[], path: string, warnings: IssueList): void {
  const points = new Set(bins.map((bin) => (isObject(bin) ? bin['points'] : 0)))
  if (points.size < 2) return
  warnings.add(
    `${path}.reason_eligible`,
    'is false, but the points of the feature differ: a principal reason can be left out',
  )
}

function checkUsedCode(code: unknown, path: string, { codes, faults }: FeatureCheck): void {
  if (code === undefined || !checkCode(code, path, faults)) return
  if (codes?.has(String(code)) === false) {
    faults.add(path, `is ${quote(String(code))}, which reason_codes does not have`)
  }
}

function checkCode(code: unknown, path: string, faults: IssueList): boolean {
  if (typeof code !== 'string') faults.add(path, `must be a text, but ${typeName(code)}`)
  else if (code.trim() === '') faults.add(path, 'must not be empty')
  else if (code.length > REASON_CODE_CHARS_MAX) {
    faults.add(path, `must have at most ${REASON_CODE_CHARS_MAX} characters`)
  } else if (code.includes('\0') || !code.isWellFormed()) {
    faults.add(path, 'must be Unicode text without NUL characters')
  } else return true
  return false
}

/** Checks a label: a text, or texts by language. */
export function checkLabel(label: unknown, path: string, faults: IssueList): void {
  if (isObject(label)) checkTexts(label, path, faults)
  else checkText(label, path, faults)
}

function checkTexts(texts: Record<string, unknown>, path: string, faults: IssueList): void {
  const entries = Object.entries(texts)
  if (entries.length === 0 || entries.length > LANGUAGES_MAX) {
    faults.add(path, `must have 1 to ${LANGUAGES_MAX} languages, but has ${entries.length}`)
    return
  }
  const known = new Set<string>()
  for (const [tag, text] of entries) {
    const isTag = tag.length <= LANGUAGE_CHARS_MAX && LANGUAGE_TAG.test(tag)
    if (!isTag) faults.add(path, `has ${quote(tag)}, which is not a language tag such as "en"`)
    else if (known.has(tag.toLowerCase())) faults.add(path, `has the language ${tag} twice`)
    known.add(tag.toLowerCase())
    checkText(text, isTag ? `${path}.${tag}` : path, faults)
  }
}

function checkText(text: unknown, path: string, faults: IssueList): void {
  if (typeof text !== 'string') faults.add(path, `must be a text, but ${typeName(text)}`)
  else if (text.trim() === '') faults.add(path, 'must not be empty')
  else if (text.length > TEXT_CHARS_MAX) {
    faults.add(path, `must have at most ${TEXT_CHARS_MAX} characters, but has ${text.length}`)
  } else if (!text.isWellFormed()) faults.add(path, 'must be Unicode text')
}

function checkNotNegative(value: unknown, path: string, faults: IssueList): void {
  const number = readNumber(value, path, faults)
  if (number !== null && number < 0) faults.add(path, 'must not be below 0')
}

function checkAllowed(
  value: unknown,
  allowed: readonly string[],
  path: string,
  faults: IssueList,
): void {
  if (typeof value === 'string' && allowed.includes(value)) return
  const names = allowed.map((name) => `"${name}"`).join(', ')
  faults.add(path, `must be one of ${names}${value === undefined ? ', but is missing' : ''}`)
}
