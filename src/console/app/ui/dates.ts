import { NONE } from './figures.ts'

type Moment = string | number
export const DAY_MS = 86_400_000

function makeFormat(options: Intl.DateTimeFormatOptions): (moment: Moment) => string {
  const format = new Intl.DateTimeFormat('en-GB', options)
  return (moment) => format.format(new Date(moment))
}

const whenKnown = makeFormat({ dateStyle: 'medium', timeStyle: 'short' })

/** Day and minute in the time zone of the browser. */
export function when(moment: Moment | null): string {
  return moment === null ? NONE : whenKnown(moment)
}

/** With seconds and the time zone. */
export const whenExactly = makeFormat({ dateStyle: 'medium', timeStyle: 'long' })

export const clock = makeFormat({ timeStyle: 'short' })

/** Days in the time zone of the browser. */
export const localDay = makeFormat({ dateStyle: 'medium' })

/** A day in UTC, as reports count days. */
export const day = makeFormat({ dateStyle: 'medium', timeZone: 'UTC' })

/** Day and month in UTC, such as "9 Nov". */
export const shortDay = makeFormat({ day: 'numeric', month: 'short', timeZone: 'UTC' })

/** Such as "October 2026". */
export const monthName = makeFormat({ month: 'long', year: 'numeric', timeZone: 'UTC' })

/** A period in whole days of UTC, of which `to` is the end and no part. */
export function period(from: Moment, to: Moment): string {
  const last = new Date(to).getTime() - 1
  if (last - new Date(from).getTime() < DAY_MS) return day(from)
  return `${shortDay(from)} – ${day(last)}`
}
