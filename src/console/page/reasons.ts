import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import { api, type Session } from './api.ts'
import { count, NONE, percent } from './format.ts'
import { PERIOD_DEFAULT, PeriodField, periodQuery, ReportLinks } from './periods.ts'
import { ReasonBaselines } from './reason-baselines.ts'
import { LanguageField } from './reason-list.ts'
import { hasReasons, isObject, languageName, languagesOf, textsOf } from './reason-words.ts'
import { useLoaded } from './state.ts'
import type { Deployment, Model, ReasonCounts } from './types.ts'
import { Empty, numberHead, optionalHead, Page, Shown, Table } from './ui.ts'

interface ReasonsPageProps {
  readonly slug: string
  readonly session: Session
}

/** Which reasons the champion's answers have, how often, and what they are measured against. */
export function ReasonsPage({ slug, session }: ReasonsPageProps) {
  const [period, setPeriod] = useState(PERIOD_DEFAULT)
  const loaded = useLoaded(async () => {
    const deployment = await api<Deployment>('GET', `v1/deployments/${slug}`)
    return api<Model>('GET', `v1/models/${deployment.champion_model.id}`)
  }, [slug])
  const above = html`<a href=${`#/deployments/${slug}`}>Deployment</a>`
  return html`<${Page} title="Reasons" above=${above}>
    <div class="section-head">
      <${ReportLinks} slug=${slug} present="reasons" />
      <${PeriodField} period=${period} onChoose=${setPeriod} />
    </div>
    <${Shown} of=${loaded}>${(champion: Model) =>
      hasReasons(champion.spec)
        ? html`<${Counts} slug=${slug} champion=${champion} period=${period} />
            <${ReasonBaselines} slug=${slug} champion=${champion} session=${session} />`
        : html`<${Empty} title="The champion gives no reasons"><p>The specification of <a href=${`#/models/${champion.id}`}>${champion.name} ${champion.version}</a> has no <code>reasons</code> with version 1.</p><//>`}<//>
  <//>`
}

interface CountsProps {
  readonly slug: string
  readonly champion: Model
  readonly period: string
}

function Counts({ slug, champion, period }: CountsProps) {
  const [lang, setLang] = useState('en')
  const path = `v1/deployments/${slug}/reason-counts`
  const loaded = useLoaded(
    () => api<ReasonCounts>('GET', `${path}?${periodQuery(period)}`),
    [slug, period],
  )
  // A count reads the log, so another language takes its texts from the card.
  const known = champion.spec.reason_codes
  const textOf = (code: string) => {
    const texts = isObject(known) && Object.hasOwn(known, code) ? textsOf(known[code]) : {}
    return texts[lang] ?? texts['en'] ?? Object.values(texts)[0] ?? code
  }
  return html`<section>
    <div class="section-head"><h2>Reasons of ${champion.name} ${champion.version}</h2>
      <${LanguageField} languages=${languagesOf(champion.spec)} lang=${lang} nameOf=${languageName} onChoose=${setLang} />
    </div>
    <${Shown} of=${loaded}>${(counts: ReasonCounts) => html`
      ${counts.without_baseline > 0 && html`<p class="muted">${count(counts.without_baseline)} answers have no reasons, because no baseline was in force.</p>`}
      ${
        counts.n === 0
          ? html`<${Empty} title="No answers with reasons in this period"><p>Choose a longer one, or put a baseline in force below.</p><//>`
          : html`<${ByGrade} counts=${counts} textOf=${textOf} />`
      }
    `}<//>
  </section>`
}

interface ByGradeProps {
  readonly counts: ReasonCounts
  readonly textOf: (code: string) => string
}

function ByGrade({ counts, textOf }: ByGradeProps) {
  const { n, no_adverse_factor: empty, reasons, grades, more_codes: more } = counts
  const most = Math.max(1, ...reasons.map((one) => one.n))
  const shareOf = (code: string, at: number) => {
    const grade = grades[at]
    const found = grade?.reasons.find((one) => one.code === code)
    // Where a grade lists only its most frequent codes, one that is not there is not known.
    if (grade === undefined || (found === undefined && grade.more_codes > 0)) return NONE
    return percent((found?.n ?? 0) / grade.n)
  }
  return html`<p class="muted">${count(n)} answers; ${count(empty)} of them have no adverse factor. Every answer counts, whether or not it was asked for reasons.</p>
    <${Table} caption="Reasons by grade" head=${['Reason', optionalHead('Code'), numberHead('Answers'), numberHead('Share'), optionalHead('First', 'number'), optionalHead('Share'), ...grades.map((grade) => numberHead(grade.grade === null ? 'No grade' : `In ${grade.grade}`))]}>
      ${reasons.map(
        (one) => html`<tr key=${one.code}>
        <th scope="row">${textOf(one.code)}</th>
        <td class="optional"><code>${one.code}</code></td>
        <td class="number">${count(one.n)}</td>
        <td class="number">${percent(one.n / n)}</td>
        <td class="number optional">${count(one.first)}</td>
        <td class="bar-cell optional" aria-hidden="true"><span class="step"><span class="more" style=${{ left: '0%', width: `${(100 * one.n) / most}%` }}></span></span></td>
        ${grades.map((_, at) => html`<td class="number">${shareOf(one.code, at)}</td>`)}
      </tr>`,
      )}
      <tr class="total"><th scope="row">Answers</th><td class="optional"></td><td class="number">${count(n)}</td><td></td><td class="optional"></td><td class="optional"></td>
        ${grades.map((grade) => html`<td class="number">${count(grade.n)}</td>`)}</tr>
    <//>
    ${more > 0 && html`<p class="muted">And ${count(more)} codes that are less frequent.</p>`}`
}
