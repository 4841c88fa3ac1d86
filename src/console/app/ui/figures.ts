export const NONE = '–'

const INDEX_MIN = 0.0001
const SHARE_MIN = 0.0005

type Figure = number | null | undefined
type Format = (value: Figure) => string

function makeFormat(least: number, most: number, unit = ''): Format {
  const format = new Intl.NumberFormat('en', {
    minimumFractionDigits: least,
    maximumFractionDigits: most,
  })
  return (value) => shown(value, (n) => format.format(n).replace('-', '−') + unit)
}

function shown(value: Figure, format: (value: number) => string): string {
  return value === null || value === undefined || Number.isNaN(value) ? NONE : format(value)
}

/** People, bads and other things that are whole. */
export const whole = makeFormat(0, 0)

/** A score, or points. */
export const number = makeFormat(0, 2)

/** A mean, or another figure whose column lines up its decimals. */
export const twoDecimals = makeFormat(2, 2)

const points = makeFormat(1, 1, ' pp')

/** A difference of two shares, in percentage points: `+3.0 %` could be of the first one. */
export function shareDifference(difference: Figure): string {
  return shown(difference, (n) => signed(100 * n, points))
}

/** A share that comes as a percentage. */
export const pct = makeFormat(0, 2, ' %')

/** AUC, Gini or KS. */
export const power = makeFormat(3, 3)

const share = makeFormat(1, 1, ' %')
const fourDigits = makeFormat(4, 4)

/** @param value 0..1 */
export function percent(value: Figure): string {
  return shown(value, (n) => (n > 0 && n < SHARE_MIN ? '< 0.1 %' : share(100 * n)))
}

/** PSI, p-value or another index. */
export function index(value: Figure): string {
  return shown(value, (n) => (n > 0 && n < INDEX_MIN ? `< ${INDEX_MIN}` : fourDigits(n)))
}

const MILLISECONDS = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 })

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
