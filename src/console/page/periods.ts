import { html } from 'htm/preact'
import { span } from './format.ts'
import { Field } from './ui.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** Periods of reports by their length in days; 0 is the whole log. */
const PERIODS: Readonly<Record<string, { readonly name: string; readonly days: number }>> = {
  month: { name: 'Last 30 days', days: 30 },
  quarter: { name: 'Last 90 days', days: 90 },
  year: { name: 'Last 365 days', days: 365 },
  all: { name: 'All', days: 0 },
}

export const PERIOD_DEFAULT = 'quarter'

/** The period that an address names, else the default one. */
export function periodOf(named: string | undefined): string {
  return named !== undefined && Object.hasOwn(PERIODS, named) ? named : PERIOD_DEFAULT
}

/** The start of a period for a query, such as `from=…`; empty for the whole log. */
export function periodQuery(period: string): string {
  const days = PERIODS[period]?.days ?? 0
  // A whole hour: consoles that look at the same time share one report.
  const fromMs = Math.floor((Date.now() - days * DAY_MS) / HOUR_MS) * HOUR_MS
  return days === 0 ? '' : `from=${new Date(fromMs).toISOString()}`
}

/** The same for readers: from when to when. */
export function periodSpan(period: string): string {
  const days = PERIODS[period]?.days ?? 0
  const nowMs = Date.now()
  return days === 0 ? 'the whole log' : span(nowMs - days * DAY_MS, nowMs)
}

export function periodName(period: string): string {
  return PERIODS[period]?.name ?? period
}

/** A choice of the period of a report. */
export function PeriodField({
  period,
  onChoose,
}: {
  period: string
  onChoose: (period: string) => void
}) {
  const choose = (event: Event) => onChoose((event.currentTarget as HTMLSelectElement).value)
  return html`<${Field} label="Period">${(field: object) =>
    html`<select ...${field} value=${period} onChange=${choose}>
      ${Object.entries(PERIODS).map(([value, { name }]) => html`<option value=${value}>${name}</option>`)}
    </select>`}<//>`
}

const REPORTS = [
  { place: 'stability', name: 'Stability' },
  { place: 'cutoffs', name: 'Cut-offs' },
  { place: 'swap-set', name: 'Challengers' },
  { place: 'versions', name: 'Versions' },
  { place: 'reasons', name: 'Reasons' },
] as const

/** Links between the reports of a deployment. */
export function ReportLinks({ slug, present }: { slug: string; present: string }) {
  return html`<nav class="actions" aria-label="Reports">
    ${REPORTS.map(
      ({ place, name }) =>
        html`<a class="button" href=${`#/deployments/${slug}/${place}`} aria-current=${place === present ? 'page' : undefined}>${name}</a>`,
    )}
  </nav>`
}
