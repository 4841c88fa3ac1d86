import { NativeSelect, TextInput } from '@mantine/core'
import { useEffect, useState } from 'react'
import { type Search, useAddress } from './address.ts'
import { completePeriod, type Period } from './complete-period.ts'
import { DAY_MS, period as periodText } from './dates.ts'
import { typed } from './fields.tsx'

const HOUR_MS = 3_600_000

const NAMES = [
  { value: 'week', label: 'Newest complete week' },
  { value: 'month', label: 'Newest complete month' },
  { value: '30', label: 'Last 30 days' },
  { value: '90', label: 'Last 90 days' },
  { value: '365', label: 'Last 365 days' },
  { value: 'all', label: 'All' },
  { value: 'own', label: 'Days of my own' },
] as const

export function readPeriod(search: Search, standard: string): Period {
  const name = search['period'] ?? standard
  if (name === 'week' || name === 'month') return completePeriod(name)
  if (name === 'own') return readDays(search)
  const days = Number(name)
  if (!(days > 0)) return {}
  // A whole hour: consoles that look at the same time share one report.
  const fromMs = Math.floor((Date.now() - days * DAY_MS) / HOUR_MS) * HOUR_MS
  return { from: new Date(fromMs).toISOString() }
}

export function periodWords({ from, to }: Period): string {
  if (from === undefined) return 'the whole log'
  return periodText(from, to ?? Date.now())
}

/** Reads the days of an address; the service refuses a text that is no day. */
export function readDays({ from, to }: Search): Period {
  return {
    ...(from && { from: `${from}T00:00:00.000Z` }),
    ...(to && { to: isDay(to) ? endOfDay(to) : to }),
  }
}

function isDay(text: string): boolean {
  return /^[1-9]\d{3}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text))
}

/** @param day such as 2026-11-28 */
export function endOfDay(day: string): string {
  return new Date(Date.parse(day) + DAY_MS).toISOString()
}

/** The first and the last day of a period, which the address keeps. */
export function Days() {
  return (
    <>
      <Day name="from" label="First day (UTC)" />
      <Day name="to" label="Last day (UTC)" />
    </>
  )
}

/** A day that can be typed: the address follows a year of four digits, and an empty field. */
function Day({ name, label }: { name: 'from' | 'to'; label: string }) {
  const [{ [name]: day = '' }, change] = useAddress()
  const [text, setText] = useState(day)
  useEffect(() => setText(day), [day])
  const take = (typedText: string) => {
    setText(typedText)
    if (typedText === '' || isDay(typedText)) change({ [name]: typedText })
  }
  const reset = () => setText(day)
  return <TextInput type="date" label={label} {...typed(text, take)} onBlur={reset} />
}

/** A choice of the period of a report, which the address keeps. */
export function PeriodChoice({ standard }: { standard: string }) {
  const [search, , bind] = useAddress()
  return (
    <>
      <NativeSelect label="Period" data={[...NAMES]} {...bind('period', standard)} />
      {search['period'] === 'own' && <Days />}
    </>
  )
}
