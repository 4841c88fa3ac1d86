import { useDeployment, useModel, useModelNames } from '../../api/deployments.ts'
import {
  medianBand,
  useCutoffs,
  useDefinitions,
  usePerformance,
  useSwapSet,
} from '../../api/reports.ts'
import type { Schemas } from '../../api/types.ts'
import { featureNames } from '../../ui/card.ts'
import { counted, number, percent, power, whole } from '../../ui/figures.ts'
import { Conclusion } from '../../ui/light.tsx'
import { Failure, Loading } from '../../ui/states.tsx'
import { ScrollTable } from '../../ui/table.tsx'
import { CHALLENGER, writeDifference } from '../performance/verdicts.ts'

type Verdict = Schemas['ChallengerVerdict']

/** A verdict on a challenger that one can sign: its ranking, and whom it swaps. */
export function ChallengerEvidence(props: { slug: string; challengerId: string; modelId: string }) {
  const { slug, challengerId, modelId } = props
  const name = useModelNames()(modelId)
  const definitions = useDefinitions()
  const definition = definitions.data?.[0]
  const performance = usePerformance(slug, definition?.id)
  const deployment = useDeployment(slug)
  const bands = useCutoffs(slug, {})
  const cutoff = deployment.data?.cutoff ?? (bands.data ? medianBand(bands.data) : null)
  const swap = useSwapSet(slug, { challenger_id: challengerId, cutoff, rule: EQUAL })
  const error = definitions.error ?? performance.error ?? swap.error ?? bands.error
  const isKnown = definitions.data?.length === 0 || performance.data !== undefined
  const found = performance.data?.verdicts.challengers.find(
    (one) => one.challenger_id === challengerId,
  )
  const { kind, answer } = CHALLENGER[found?.verdict ?? 'insufficient_data']
  return (
    <section className="evidence">
      <h3>Is it better?</h3>
      {error && <Failure error={error} />}
      {!isKnown && !error && <Loading text="Comparing both on the same applicants …" />}
      {isKnown && (
        <Conclusion kind={kind} word={answer}>
          {conclude(name, found, definition?.label)}
        </Conclusion>
      )}
      {swap.data && swap.data.n > 0 && cutoff !== null && (
        <>
          <p>{swapSentence(name, swap.data, cutoff, deployment.data?.cutoff === null)}</p>
          <SwapPicture
            swap={swap.data}
            name={name}
            caption="Whom both approve, at equal approvals"
          />
          <MissingFeatures swap={swap.data} modelId={modelId} />
        </>
      )}
      {swap.data?.n === 0 && <p>Nobody has been scored by both yet.</p>}
    </section>
  )
}

const EQUAL = 'same_approval_rate' as const

function conclude(name: string, found: Verdict | undefined, label: string | undefined): string {
  if (label === undefined) {
    return `Not known: nothing is defined yet that counts as bad, so no outcome can tell.`
  }
  if (found === undefined || found.n === 0) {
    return `Not known yet: there are no outcomes of applicants that both have scored.${neededText(found)}`
  }
  const { verdict, n, auc, champion_auc: other } = found
  const basis = `On the same ${counted(n, 'applicant')} with an outcome (${whole(found.bad)} bad, “${label}”)`
  const figures = `AUC ${power(auc)} against ${power(other)}, difference ${writeDifference(found)}`
  if (verdict === 'better') return `${basis}, ${name} ranks better: ${figures}.`
  if (verdict === 'worse') return `${basis}, ${name} ranks worse: ${figures}. Do not promote it.`
  if (verdict === 'no_difference') {
    return `${basis}, ${name} ranks as well as the champion: ${figures}. No difference that matters.`
  }
  return `${basis}: ${figures}. That is not enough for a verdict.${neededText(found)}`
}

function neededText(found: Verdict | undefined): string {
  const needed = found?.needed ?? null
  if (needed === null) return ''
  return ` ${whole(needed.n)} more outcomes of both are needed, ${whole(needed.bad)} of them bad.`
}

function swapSentence(
  name: string,
  { n, cells, approval_rate: rate }: Schemas['SwapSet'],
  cutoff: number,
  isMedian: boolean,
): string {
  const { swap_in: gained, swap_out: lost } = cells
  const basis = isMedian ? `${number(cutoff)}, the median` : number(cutoff)
  const bads = `expected bads ${whole(gained.expected_bads_challenger)} among those in, ${whole(lost.expected_bads_challenger)} among those out, by its own probabilities`
  return `Of all ${whole(n)} applicants that both have scored, at equal approvals (${percent(rate)}, cut-off ${basis}), ${name} would approve ${whole(gained.n)} that the champion declines, and decline ${whole(lost.n)} that it approves: ${bads}.`
}

function MissingFeatures({ swap, modelId }: { swap: Schemas['SwapSet']; modelId: string }) {
  const model = useModel(modelId)
  const missed = swap.missing_features ?? []
  if (missed.length === 0) return null
  const featureName = featureNames(model.data?.spec)
  const names = missed.map(({ name, n }) => `${featureName(name)} (${whole(n)})`)
  return <p className="notice watch">Features that applicants lacked: {names.join(', ')}.</p>
}

/** The four fields of a swap set; those whom one of both approves stand out. */
export function SwapPicture(props: { swap: Schemas['SwapSet']; name: string; caption: string }) {
  const { swap, name, caption } = props
  const { both_approve, swap_out, swap_in, both_decline } = swap.cells
  const rows = [
    ['Champion approves', both_approve, swap_out],
    ['Champion declines', swap_in, both_decline],
  ] as const
  return (
    <ScrollTable caption={caption} className="swap">
      <thead>
        <tr>
          <td />
          <th scope="col">{name} approves</th>
          <th scope="col">{name} declines</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(([head, ...cells]) => (
          <tr key={head}>
            <th scope="row">{head}</th>
            {cells.map((cell, at) => (
              <td key={at === 0 ? 'approves' : 'declines'} className={describeCell(cell, swap)}>
                <strong>{whole(cell.n)}</strong>{' '}
                <span className="muted">{percent(cell.share)}</span>
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </ScrollTable>
  )
}

function describeCell(cell: Schemas['SwapCell'], { cells }: Schemas['SwapSet']): string {
  if (cell === cells.swap_in) return 'swap-in'
  return cell === cells.swap_out ? 'swap-out' : ''
}
