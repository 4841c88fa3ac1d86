import type { Schemas } from '../../api/types.ts'
import { Chart } from '../../ui/chart/chart.tsx'
import { Facts } from '../../ui/facts.tsx'
import { index, NONE, number, percent, power, whole } from '../../ui/figures.ts'
import { plainName } from '../../ui/names.ts'
import { Badge, Panel } from '../../ui/page.tsx'
import { Empty } from '../../ui/states.tsx'
import { PlainTable } from '../../ui/table.tsx'

interface SwapCell {
  readonly n: number
  readonly share: number | null
  readonly mean_pd_champion: number | null
  readonly mean_pd_challenger_low: number | null
  readonly mean_pd_challenger_high: number | null
}

const CELLS = {
  both_approve: 'Both approve',
  swap_out: 'Only the present card approves',
  swap_in: 'Only the candidate approves',
  both_decline: 'Both decline',
  undecided: 'The log does not tell',
} as const

type Present = Schemas['Performance'] | undefined
type Powers = NonNullable<BacktestResult['performance']>

/** The result of a job, whose fields the document of the API does not name. */
export interface BacktestResult {
  readonly n: number
  readonly exact_share: number | null
  readonly dedupe?: string
  readonly features: readonly {
    readonly name: string
    readonly map: string
    readonly exact_share: number | null
  }[]
  readonly scores: {
    readonly mean_low: number | null
    readonly mean_high: number | null
    readonly bands: readonly {
      readonly min: number
      readonly max: number
      readonly n: number
      readonly n_possible: number
    }[]
  }
  readonly psi: { readonly psi: number | null }
  readonly performance:
    | (Readonly<Record<`${'auc' | 'gini' | 'ks'}${'' | '_low' | '_high'}`, number | null>> & {
        readonly n: number
        readonly bad: number
        readonly coverage: { readonly scored: number }
        readonly brier: number | null
      })
    | null
  readonly swap_set: {
    readonly cutoff: number
    readonly approval_rate: number | null
    readonly challenger_approval_rate_low: number | null
    readonly challenger_approval_rate_high: number | null
    readonly cells: Readonly<Record<keyof typeof CELLS, SwapCell>>
  } | null
}

/** @param present how well the present card ranks the same period, where the address tells it */
export function BacktestView({ result, present }: { result: BacktestResult; present: Present }) {
  const { n, exact_share: exact, scores, psi, features, swap_set: swaps } = result
  if (n === 0) {
    return <Empty title="No applicants" hint="The deployment scored nobody in this period." />
  }
  return (
    <>
      <Panel title="Result">
        <p className="conclusion">{conclusion(result)}</p>
        <Facts
          facts={[
            ['Applicants', whole(n)],
            ['Exact scores', percent(exact)],
            ['Mean score', between(scores.mean_low, scores.mean_high, number)],
            ['PSI against the served scores', index(psi.psi)],
          ]}
        />
        {result.dedupe === 'last' && (
          <p className="muted">Of several scores of one application the last counts.</p>
        )}
      </Panel>
      {swaps && <Swaps swaps={swaps} />}
      {result.performance && <Known known={result.performance} present={present} />}
      <Panel title="Features">
        <PlainTable
          caption="Features"
          head={['Feature', 'Follows from the logged bins', 'Exact']}
          figures={[2]}
          rows={features.map((one) => [
            plainName(one.name),
            <Badge key="map" kind={one.map === 'exact' ? 'good' : ''}>
              {one.map}
            </Badge>,
            percent(one.exact_share),
          ])}
        />
      </Panel>
      <Scores bands={scores.bands} />
    </>
  )
}

function conclusion({ exact_share: exact, swap_set: swaps, performance: known }: BacktestResult) {
  const sentences = [`The log tells the exact score of the candidate for ${percent(exact)}.`]
  if (swaps !== null) {
    const { challenger_approval_rate_low: low, challenger_approval_rate_high: high } = swaps
    sentences.push(
      `From ${number(swaps.cutoff)} on it would approve ${between(low, high, percent)}, the present card approves ${percent(swaps.approval_rate)}.`,
    )
  }
  if (known !== null) {
    sentences.push(
      `Its Gini is ${power(known.gini)} (${between(known.gini_low, known.gini_high, power)}).`,
    )
  }
  return sentences.join(' ')
}

/** Shows how well the candidate tells good from bad, where both are known. */
function Known({ known, present }: { known: Powers; present: Present }) {
  const interval = (name: 'auc' | 'gini' | 'ks') =>
    between(known[`${name}_low`], known[`${name}_high`], power)
  return (
    <Panel title="Against known outcomes">
      <Facts
        facts={[
          ['Gini', power(known.gini), interval('gini')],
          !!present?.n && comparePresent(present),
          ['AUC', power(known.auc), interval('auc')],
          ['KS', power(known.ks), interval('ks')],
          ['Brier score', index(known.brier)],
          [
            'Good and bad',
            whole(known.n),
            `${whole(known.bad)} bad, of ${whole(known.coverage.scored)} applicants`,
          ],
        ]}
      />
      <p className="muted">
        Intervals of 95 percent; those of the candidate over applicants with an exact score. Nobody
        knows the outcome of those whom only the candidate approves.
      </p>
    </Panel>
  )
}

function comparePresent({ gini, gini_low: low, gini_high: high, n }: NonNullable<Present>) {
  const basis = `${between(low, high, power)}, of ${whole(n)} with an outcome`
  return ['Gini of the present card', power(gini), basis] as const
}

function Swaps({ swaps }: { swaps: NonNullable<BacktestResult['swap_set']> }) {
  const cells = Object.entries(CELLS) as [keyof typeof CELLS, string][]
  return (
    <Panel title={`Approved from ${number(swaps.cutoff)}`}>
      <PlainTable
        caption="Swap set"
        head={['Applicants', 'Number', 'Share', 'Mean PD, present', 'Mean PD, candidate']}
        figures={[1, 2, 3, 4]}
        rows={cells.map(([name, text]) => {
          const cell = swaps.cells[name]
          return [
            text,
            whole(cell.n),
            percent(cell.share),
            percent(cell.mean_pd_champion),
            between(cell.mean_pd_challenger_low, cell.mean_pd_challenger_high, percent),
          ]
        })}
      />
    </Panel>
  )
}

function Scores({ bands }: { bands: BacktestResult['scores']['bands'] }) {
  if (bands.length === 0) return null
  const isExact = bands.every((band) => band.n === band.n_possible)
  const kind = 'bars' as const
  const possible = { name: 'At most', kind, tone: 2, values: bands.map((band) => band.n_possible) }
  const known = { name: 'Applicants', kind, tone: 1, values: bands.map((band) => band.n) }
  return (
    <Panel title="Scores">
      <Chart
        title="Applicants by score of the candidate"
        at={bands.map(({ min }) => min)}
        atName="From score"
        formatAt={number}
        series={isExact ? [known] : [possible, known]}
        format={whole}
        from={0}
      />
    </Panel>
  )
}

/** One text for two equal bounds. */
function between(low: number | null, high: number | null, text: (value: number) => string): string {
  if (low === null || high === null) return NONE
  return low === high ? text(low) : `${text(low)} to ${text(high)}`
}
