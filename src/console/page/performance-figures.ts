import { html } from 'htm/preact'
import { NumberChart } from './charts.ts'
import { count, NONE, number, percent, signed } from './format.ts'
import { between, chance, isTooHigh } from './performance-verdict.ts'
import type { Performance } from './types.ts'
import { Badge, numberHead, Table } from './ui.ts'

const LIGHTS = { green: 'good', amber: 'shadow', red: 'off' } as const
const LIGHT_NAMES = { green: 'fits', amber: 'watch', red: 'too low' } as const

type Grade = Performance['calibration']['grades'][number]

function Light({ of }: { of: Grade }) {
  if (of.light === null) return null
  if (isTooHigh(of)) return html`<${Badge} kind="shadow">too high<//>`
  return html`<${Badge} kind=${LIGHTS[of.light]}>${LIGHT_NAMES[of.light]}<//>`
}

/** Where is it wrong: grades whose probability does not fit. */
export function Grades({ found }: { found: Performance }) {
  const { grades, hosmer_lemeshow: test } = found.calibration
  const { brier, spiegelhalter } = found
  if (grades.length === 0) return null
  return html`<section><h2>Do its probabilities fit?</h2>
    <${Table} caption="Calibration by grade" head=${['Grade', numberHead('Applicants'), numberHead('Bad'), numberHead('Expected'), numberHead('Observed'), numberHead('95 percent interval'), 'Probability']}>
      ${grades.map(
        (one) => html`<tr><th scope="row">${one.grade ?? 'none'}</th>
        <td class="number">${count(one.n)}</td><td class="number">${count(one.bad)}</td>
        <td class="number">${percent(one.mean_pd)}</td><td class="number">${percent(one.bad_rate)}</td>
        <td class="number">${between(one.bad_rate_low, one.bad_rate_high, percent)}</td>
        <td><${Light} of=${one} /></td></tr>`,
      )}
    <//>
    <p class="muted">
      ${test && `Hosmer-Lemeshow ${number(test.chi2)} with ${test.df} degrees of freedom, p ${chance(test.p_value)}. `}
      ${brier !== null && `Brier score ${brier.toFixed(4)}. `}
      ${spiegelhalter && `Spiegelhalter z = ${signed(spiegelhalter.z)}, p ${chance(spiegelhalter.p_value)}.`}
    </p>
  </section>`
}

/** The same by bands of scores, as curves. */
export function Bands({ found, period }: { found: Performance; period: string }) {
  const { bands } = found.calibration
  if (bands.length < 2) return null
  const curves = [
    { name: 'Expected', values: bands.map(({ mean_pd: meanPd }) => meanPd) },
    { name: 'Observed', values: bands.map(({ bad_rate: rate }) => rate) },
    { name: 'At least', values: bands.map(({ bad_rate_low: low }) => low) },
    { name: 'At most', values: bands.map(({ bad_rate_high: high }) => high) },
  ]
  const outside = bands.filter(
    ({ mean_pd: meanPd, bad_rate_low: low, bad_rate_high: high }) =>
      meanPd !== null && (meanPd < low || meanPd > high),
  )
  const summary = `${count(outside.length)} of ${count(bands.length)} bands have an expected share outside of the interval of 95 percent`
  return html`<section><${NumberChart} title="Bad applicants by band of scores" basis=${{ unit: 'percent of the applicants', n: found.n, period }} summary=${summary} curves=${curves} along=${bands.map(({ min }) => min)} format=${percent} /></section>`
}

/** What a cut-off at each band would approve. */
export function Gains({ found: { gains, n } }: { found: Performance }) {
  if (n === 0) return null
  return html`<section><h2>What would a cut-off approve?</h2>
    <p class="muted">Bands from the best scores to the worst; each row with all better ones.</p>
    <${Table} caption="Gains" head=${[numberHead('Scores'), numberHead('Applicants'), numberHead('Bad rate'), numberHead('95 percent interval'), numberHead('Approved'), numberHead('Bad rate of those'), numberHead('Lift')]}>
      ${gains.map(
        (
          band,
        ) => html`<tr><th scope="row" class="number">${number(band.min_score)} … ${number(band.max_score)}</th>
        <td class="number">${count(band.count)}</td><td class="number">${percent(band.bad_rate)}</td>
        <td class="number">${between(band.bad_rate_low, band.bad_rate_high, percent)}</td>
        <td class="number">${percent(band.approval_rate)}</td><td class="number">${percent(band.cum_bad_rate)}</td>
        <td class="number">${number(band.lift)}</td></tr>`,
      )}
    <//>
  </section>`
}

const BINS_SHOWN_MAX = 12
const STRIKING_Z = 2

/** Where is it wrong: bins with other bad rates than their applicants' probabilities. */
export function Bins({ found }: { found: Performance }) {
  const bins = found.features
    .flatMap(({ name, bins: own }) => own.map((bin) => ({ name, ...bin })))
    .filter(({ z }) => z !== null)
    .sort((a, b) => Math.abs(b.z ?? 0) - Math.abs(a.z ?? 0))
    .slice(0, BINS_SHOWN_MAX)
  if (bins.length === 0) return null
  return html`<section><h2>Where is it wrong?</h2>
    <p class="muted">Bins by the distance of their bad applicants from what the card expected. Beyond ${STRIKING_Z} deviations their points may be stale; of a hundred sound bins about five are, by chance.</p>
    <${Table} caption="Bins that fit least" head=${['Feature', 'Bin', numberHead('Points'), numberHead('Applicants'), numberHead('Bad rate'), numberHead('95 percent interval'), numberHead('Deviations'), '']}>
      ${bins.map(
        (one) => html`<tr><th scope="row">${one.name}</th>
        <td>${one.bin?.label ?? one.bin?.range ?? one.bin?.value ?? one.outcome}</td>
        <td class="number">${number(one.points)}</td><td class="number">${count(one.n)}</td>
        <td class="number">${percent(one.bad_rate)}</td>
        <td class="number">${between(one.bad_rate_low, one.bad_rate_high, percent)}</td>
        <td class="number">${signed(one.z)}</td>
        <td>${Math.abs(one.z ?? 0) > STRIKING_Z && html`<${Badge} kind="off">${(one.z ?? 0) > 0 ? 'worse' : 'better'}<//>`}</td></tr>`,
      )}
    <//>
    <${Inversions} found=${found} />
  </section>`
}

/** Points that reward applicants of whom more were bad. */
function Inversions({ found }: { found: Performance }) {
  const rows = found.features.flatMap(({ name, order }) =>
    order.inversions.map((inversion) => ({ name, ...inversion })),
  )
  if (rows.length === 0) return null
  return html`<p class="muted">Of these neighbouring points of a feature, the better ones had the higher bad rate, beyond chance.</p>
    <${Table} caption="Points in the wrong order" head=${['Feature', numberHead('Better points'), numberHead('Bad rate'), numberHead('Worse points'), numberHead('Bad rate of these'), numberHead('p')]}>
      ${rows.map(
        (one) => html`<tr><th scope="row">${one.name}</th>
        <td class="number">${number(one.better.points)}</td><td class="number">${percent(one.better.bad_rate)}</td>
        <td class="number">${number(one.worse.points)}</td><td class="number">${percent(one.worse.bad_rate)}</td>
        <td class="number">${one.p_value.toFixed(3)}</td></tr>`,
      )}
    <//>`
}

interface ChallengersProps {
  readonly found: Performance
  readonly names: ReadonlyMap<string, string>
}

/** Challengers against the model of the report, on the same applicants. */
export function Challengers({ found, names }: ChallengersProps) {
  if (found.paired.length === 0) return null
  const fine = (value: number | null) => (value === null ? NONE : value.toFixed(4))
  return html`<section><h2>Would a challenger be better?</h2>
    <${Table} caption="Challengers on the same applicants" head=${['Challenger', numberHead('Applicants'), numberHead('AUC'), numberHead('Difference'), numberHead('95 percent interval'), numberHead('p'), '']}>
      ${found.paired.map(
        (
          one,
        ) => html`<tr><th scope="row"><a href=${`#/models/${one.model_id}`}>${names.get(one.model_id) ?? one.model_id}</a></th>
        <td class="number">${count(one.n)}</td><td class="number">${one.auc?.toFixed(3) ?? NONE}</td>
        <td class="number">${fine(one.auc_difference)}</td>
        <td class="number">${between(one.auc_difference_low, one.auc_difference_high, fine)}</td>
        <td class="number">${one.p_value?.toFixed(3) ?? NONE}</td>
        <td><${Better} low=${one.auc_difference_low} high=${one.auc_difference_high} /></td></tr>`,
      )}
    <//>
  </section>`
}

function Better({ low, high }: { low: number | null; high: number | null }) {
  if (low !== null && low > 0) return html`<${Badge} kind="good">better<//>`
  if (high !== null && high < 0) return html`<${Badge} kind="off">worse<//>`
  return html`<${Badge}>no difference for sure<//>`
}
