export const NONE = '–'

const WHOLE = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const NUMBER = new Intl.NumberFormat('en', { maximumFractionDigits: 2 })
const SHARE = new Intl.NumberFormat('en', { minimumFractionDigits: 1, maximumFractionDigits: 1 })
const INDEX = new Intl.NumberFormat('en', { minimumFractionDigits: 4, maximumFractionDigits: 4 })
const AUC = new Intl.NumberFormat('en', { minimumFractionDigits: 3, maximumFractionDigits: 3 })
const MILLISECONDS = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 })
const INDEX_MIN = 0.0001
const SHARE_MIN = 0.0005

type Figure = number | null | undefined

function shown(value: Figure, format: (value: number) => string): string {
  return value === null || value === undefined || Number.isNaN(value) ? NONE : format(value)
}

/** People, bads and other things that are whole. */
export function whole(value: Figure): string {
  return shown(value, (n) => minus(WHOLE.format(n)))
}

/** A score, or points. */
export function number(value: Figure): string {
  return shown(value, (n) => minus(NUMBER.format(n)))
}

/** @param share 0..1 */
export function percent(share: Figure): string {
  return shown(share, (value) => {
    if (value > 0 && value < SHARE_MIN) return '< 0.1 %'
    return `${minus(SHARE.format(100 * value))} %`
  })
}

/** A share that comes as a percentage. */
export function pct(value: Figure): string {
  return shown(value, (n) => `${minus(NUMBER.format(n))} %`)
}

/** PSI, p-value or another index. */
export function index(value: Figure): string {
  return shown(value, (n) => {
    return n > 0 && n < INDEX_MIN ? `< ${INDEX_MIN}` : minus(INDEX.format(n))
  })
}

/** AUC, Gini or KS. */
export function power(value: Figure): string {
  return shown(value, (n) => minus(AUC.format(n)))
}

export function milliseconds(value: Figure): string {
  return shown(value, (n) => `${MILLISECONDS.format(n)} ms`)
}

/** A difference with its sign, in the format of its figures. */
export function signed(value: Figure, format: (value: number) => string = number): string {
  return shown(value, (n) => {
    const text = format(Math.abs(n))
    if (text === format(0)) return text
    return `${n > 0 ? '+' : '−'}${text}`
  })
}

/** The size of a sample, which stays on one line. */
export function sampleSize(n: Figure): string {
  return `n\u00a0=\u00a0${whole(n)}`
}

/** A number with its noun, such as "1 change" or "2 changes". */
export function counted(n: number, one: string, many = `${one}s`): string {
  return `${whole(n)} ${n === 1 ? one : many}`
}

function minus(text: string): string {
  return text.replace('-', '−')
}

/**
 * Reads a number as people type it, with a decimal point or comma; null if it is none.
 *
 * A comma before exactly three digits could be either, so `1,000` is none.
 */
export function readNumber(text: string): number | null {
  const plain = text.replaceAll(/[\s\u00a0]/g, '').replace('−', '-')
  if (!/^-?\d+([.,]\d+)?$/.test(plain) || /,\d{3}$/.test(plain)) return null
  return Number(plain.replace(',', '.'))
}
