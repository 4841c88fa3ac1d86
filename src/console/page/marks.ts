import { html } from 'htm/preact'
import { api } from './api.ts'
import { when } from './format.ts'
import { type Loaded, useLoaded } from './state.ts'
import type { DeploymentHistory, HistoryChange } from './types.ts'
import { Failure } from './ui.ts'
import { verdictName } from './verdict.ts'

/** A change that charts over time mark. */
export interface Mark {
  readonly atSec: number
  readonly at: string
  readonly text: string
  /** Whether it marks nothing but a changed verdict. */
  readonly isVerdict: boolean
}

/** Marks below a chart; more would hide the curves. */
const MARKS_SHOWN = 12
const TOGETHER_SEC = 60

/** The marks of a deployment from a moment on. */
export function useMarks(
  slug: string,
  from: string,
  also: unknown = null,
): Loaded<readonly Mark[]> {
  const load = async () =>
    marksOf(await api<DeploymentHistory>('GET', `v1/deployments/${slug}/history?${from}`))
  return useLoaded(load, [slug, from.length === 0], { also })
}

/** Says that charts show no marks, because the changes could not be read. */
export function MarksFailure({ marks }: { marks: Loaded<readonly Mark[]> }) {
  const { error, reload } = marks
  if (error === null) return null
  return html`<p class="muted">The changes of this deployment could not be read, so the charts mark ${marks.data === null ? 'none' : 'only the earlier ones'}.</p>
    <${Failure} error=${error} retry=${reload} />`
}

/** Promotions, rollbacks, shares and verdicts as marks; other changes move no curve. */
export function marksOf({ changes }: DeploymentHistory): Mark[] {
  const marks: Mark[] = []
  for (const change of changes) {
    const text = markText(change)
    if (text === null) continue
    const { at } = change
    const isVerdict = change.kind === 'stability_verdict'
    const atSec = Date.parse(at) / 1000
    const before = marks.at(-1)
    // Changes that were made together are one line in the chart.
    if (before !== undefined && atSec - before.atSec < TOGETHER_SEC) {
      marks[marks.length - 1] = {
        ...before,
        text: `${before.text}, ${text}`,
        isVerdict: before.isVerdict && isVerdict,
      }
    } else marks.push({ at, atSec, text, isVerdict })
  }
  return marks
}

/** What a change did, in few words; null for one that charts don't mark. */
function markText(change: HistoryChange): string | null {
  const { kind, champion_version: champion, verdict } = change
  if (kind === 'promote') return `${champion ?? 'a model'} promoted`
  if (kind === 'rollback') return `rolled back to ${champion ?? 'a model'}`
  if (kind === 'stability_verdict') return `verdict: ${verdictName(verdict)}`
  if (kind === 'toggle_shadow') return change.shadow_mode === true ? 'shadow mode' : 'live split'
  if (kind === 'add_challenger' || kind === 'remove_challenger' || kind === 'update_traffic') {
    return sharesText(change)
  }
  return null
}

function sharesText({ challengers, shadow_mode: isShadow }: HistoryChange): string {
  if (challengers.length === 0) return 'no challengers'
  const names = challengers.map(({ version, traffic_pct }) =>
    isShadow === true ? `${version ?? 'a model'}` : `${version ?? 'a model'} ${traffic_pct} %`,
  )
  return `${isShadow === true ? 'in shadow' : 'shares'}: ${names.join(', ')}`
}

/**
 * Marks within the range of a chart, numbered as the chart shows them. Where there are too many,
 * changes of the deployment go before verdicts, and newer ones before older ones.
 */
export function marksWithin(marks: readonly Mark[], fromSec: number, toSec: number): Mark[] {
  const within = marks.filter(({ atSec }) => atSec >= fromSec && atSec <= toSec)
  const changes = within.filter(({ isVerdict }) => !isVerdict).slice(-MARKS_SHOWN)
  const places = MARKS_SHOWN - changes.length
  const verdicts = within.filter(({ isVerdict }) => isVerdict)
  const shown = new Set([...changes, ...(places === 0 ? [] : verdicts.slice(-places))])
  return within.filter((mark) => shown.has(mark))
}

/** The legend of a chart's marks. */
export function MarkList({ marks }: { marks: readonly Mark[] }) {
  if (marks.length === 0) return null
  return html`<ol class="marks small muted">${marks.map(
    ({ at, text }) => html`<li>${text} <time datetime=${at}>${when(at)}</time></li>`,
  )}</ol>`
}
