import { NONE } from './figures.ts'

const DAY = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium' })
const DAY_UTC = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' })
const SHORT_UTC = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  timeZone: 'UTC',
})
const MONTH_UTC = new Intl.DateTimeFormat('en-GB', {
  month: 'long',
  year: 'numeric',
  timeZone: 'UTC',
})
const WHEN = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short' })
const EXACTLY = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'long' })
const CLOCK = new Intl.DateTimeFormat('en-GB', { timeStyle: 'short' })

type Moment = string | number
const DAY_MS = 86_400_000

/** Day and minute in the time zone of the browser. */
export function when(moment: Moment | null): string {
  return moment === null ? NONE : WHEN.format(new Date(moment))
}

export function whenExactly(moment: Moment): string {
  return EXACTLY.format(new Date(moment))
}

export function clock(moment: Moment): string {
  return CLOCK.format(new Date(moment))
}

/** A day in UTC, as reports count days. */
export function day(moment: Moment): string {
  return DAY_UTC.format(new Date(moment))
}

/** Day and month in UTC, such as "9 Nov". */
export function shortDay(moment: Moment): string {
  return SHORT_UTC.format(new Date(moment))
}

/** Such as "October 2026". */
export function monthName(moment: Moment): string {
  return MONTH_UTC.format(new Date(moment))
}

/** A period in whole days of UTC, of which `to` is the end and no part. */
export function period(from: Moment, to: Moment): string {
  const last = new Date(to).getTime() - 1
  if (last - new Date(from).getTime() < DAY_MS) return day(from)
  return `${shortDay(from)} – ${day(last)}`
}

/** Days in the time zone of the browser. */
export function localDay(moment: Moment): string {
  return DAY.format(new Date(moment))
}
