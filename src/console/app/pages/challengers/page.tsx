import { NativeSelect, TextInput } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useAnswer } from '../../api/client.ts'
import { type Deployment, useModelNames } from '../../api/deployments.ts'
import { medianBand, useCutoffs, useSwapSet } from '../../api/reports.ts'
import type { Schemas } from '../../api/types.ts'
import { useAddress } from '../../ui/address.ts'
import { Facts } from '../../ui/facts.tsx'
import { listChoices } from '../../ui/fields.tsx'
import { counted, index, number, percent, readNumber, sampleSize, whole } from '../../ui/figures.ts'
import { Panel } from '../../ui/page.tsx'
import { PeriodChoice } from '../../ui/period.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { PlainTable, ScrollTable } from '../../ui/table.tsx'
import { DeploymentPage, useAbout } from '../deployment/frame.tsx'
import { ChallengerEvidence, SwapPicture } from './evidence.tsx'

const RULES = listChoices({
  same_approval_rate: 'Same approval rate',
  same_cutoff: 'Same cut-off',
  same_bad_rate: 'Same expected bad rate',
  explicit: 'A cut-off of its own',
})
const STANDARD = '90'

export default function ChallengersPage() {
  return (
    <DeploymentPage title="Champion and challengers" period={{ of: 'Swaps: ', standard: STANDARD }}>
      <Chosen />
    </DeploymentPage>
  )
}

/** A challenger that has scores, or will have some. */
interface Choosable {
  readonly id: string
  readonly modelId: string
  readonly isActive: boolean
}

/**
 * Active challengers, then those that scored in the period and have ended since: a promoted one is
 * the champion now, and its scores beside the former champion's stay.
 */
function Chosen() {
  const { deployment, period } = useAbout()
  const { slug } = deployment
  const modelName = useModelNames()
  const [search, , bind] = useAddress()
  const params = { path: { slug }, query: period }
  const compared = useAnswer('/v1/deployments/{slug}/stats/models', params)
  return (
    <Loaded of={compared}>
      {({ challengers }) => {
        const found = choosable(deployment, challengers)
        const chosen = found.find(({ id }) => id === search['challenger']) ?? found[0]
        if (chosen === undefined) {
          return (
            <Empty title="No challengers">
              <p>
                None is active, and none has scored in this period. Add one on the{' '}
                <Link to={`/deployments/${slug}` as string}>summary</Link>: in shadow mode it scores
                the same applicants, and answers none.
              </p>
            </Empty>
          )
        }
        return (
          <>
            <div className="filters">
              <NativeSelect
                label="Challenger"
                data={found.map(({ id, modelId, isActive }) => ({
                  value: id,
                  label: `${modelName(modelId)}${isActive ? '' : ' (ended)'}`,
                }))}
                {...bind('challenger')}
                value={chosen.id}
              />
              <PeriodChoice standard={STANDARD} />
            </div>
            <Panel title="Verdict">
              <ChallengerEvidence
                key={chosen.id}
                slug={slug}
                challengerId={chosen.id}
                modelId={chosen.modelId}
              />
            </Panel>
            <Swaps chosen={chosen} />
            <Migration challengerId={chosen.id} />
          </>
        )
      }}
    </Loaded>
  )
}

function choosable(
  { challengers: active }: Deployment,
  compared: readonly { readonly challenger_id: string; readonly model_id: string }[],
): readonly Choosable[] {
  const found = new Map<string, Choosable>(
    active.map(({ id, model_id: modelId }) => [id, { id, modelId, isActive: true }]),
  )
  for (const { challenger_id: id, model_id: modelId } of compared) {
    if (!found.has(id)) found.set(id, { id, modelId, isActive: false })
  }
  return [...found.values()]
}

function Swaps({ chosen }: { chosen: Choosable }) {
  const { deployment, period } = useAbout()
  const { slug } = deployment
  const name = useModelNames()(chosen.modelId)
  const [search, , bind] = useAddress()
  const bands = useCutoffs(slug, period)
  const typed = readNumber(search['cutoff'] ?? '')
  const cutoff = typed ?? deployment.cutoff ?? (bands.data ? medianBand(bands.data) : null)
  const rule = RULES.find(({ value }) => value === search['rule'])?.value ?? 'same_approval_rate'
  const own = readNumber(search['own'] ?? '') ?? cutoff
  const swap = useSwapSet(slug, {
    ...period,
    challenger_id: chosen.id,
    cutoff,
    rule,
    ...(rule === 'explicit' && own !== null && { challenger_cutoff: own }),
  })
  return (
    <Panel title="Swap set">
      <div className="filters">
        <TextInput
          label="Champion's cut-off"
          inputMode="decimal"
          placeholder={cutoff === null ? '' : String(cutoff)}
          {...bind('cutoff')}
        />
        <NativeSelect label="Challenger's cut-off by" data={RULES} {...bind('rule')} value={rule} />
        {rule === 'explicit' && (
          <TextInput
            label="Challenger's own cut-off"
            inputMode="decimal"
            placeholder={own === null ? '' : String(own)}
            {...bind('own')}
          />
        )}
      </div>
      {cutoff === null && bands.data && <p className="muted">No applicants in this period.</p>}
      {cutoff !== null && (
        <Loaded of={swap}>{(found) => <SwapFigures swap={found} name={name} />}</Loaded>
      )}
    </Panel>
  )
}

/** Below so many swaps the chi-squared distribution of McNemar's test does not fit. */
const SWAPS_MIN = 25

function SwapFigures({ swap, name }: { swap: Schemas['SwapSet']; name: string }) {
  const { cells, mcnemar } = swap
  const swaps = cells.swap_out.n + cells.swap_in.n
  if (swap.n === 0) {
    const hint = 'The challenger has not scored in this period.'
    return <Empty title="Nobody was scored by both" hint={hint} />
  }
  const rows = [
    ['Both approve', cells.both_approve],
    ['Only the champion approves (swap-out)', cells.swap_out],
    [`Only ${name} approves (swap-in)`, cells.swap_in],
    ['Both decline', cells.both_decline],
  ] as const
  return (
    <>
      <Facts
        facts={[
          ['Scored by both', counted(swap.n, 'applicant')],
          ['Approved by the champion', percent(swap.approval_rate)],
          ['Approved by the challenger', percent(swap.challenger_approval_rate)],
          ["Challenger's cut-off", number(swap.challenger_cutoff)],
          ['Swaps equal by chance (p)', index(mcnemar?.p_value)],
          [
            'Enough swaps for p?',
            swaps < SWAPS_MIN ? `no: ${whole(swaps)} swaps, ${SWAPS_MIN} needed` : 'yes',
          ],
        ]}
      />
      <SwapPicture swap={swap} name={name} caption="Whom both approve, at these cut-offs" />
      <PlainTable
        caption="Swap set"
        head={[
          ...['Applicants whom …', 'Applicants', 'Share'],
          ...['PD by champion, challenger', 'Expected bads by each'],
        ]}
        figures={[1, 2, 3, 4]}
        rows={rows.map(([who, cell]) => [
          ...[who, whole(cell.n), percent(cell.share)],
          `${percent(cell.mean_pd_champion)}, ${percent(cell.mean_pd_challenger)}`,
          `${whole(cell.expected_bads_champion)}, ${whole(cell.expected_bads_challenger)}`,
        ])}
      />
      <p className="muted">
        Bads are expected ones, by the probabilities of each model. The outcome of a swap-in that
        was declined is unknown.
      </p>
    </>
  )
}

/** Grades of the champion in rows, of the challenger in columns. */
function Migration({ challengerId }: { challengerId: string }) {
  const { deployment, period } = useAbout()
  const params = {
    path: { slug: deployment.slug },
    query: { challenger_id: challengerId, ...period },
  }
  const asked = useAnswer('/v1/deployments/{slug}/migration', params)
  return (
    <Panel title="Migration of grades">
      <Loaded of={asked}>
        {(found) =>
          found.n_graded === 0 ? (
            <p className="muted">Nobody has grades of both in this period.</p>
          ) : (
            <Grades migration={found} />
          )
        }
      </Loaded>
    </Panel>
  )
}

function Grades({ migration: { cells, stable_share, n } }: { migration: Schemas['Migration'] }) {
  const rows = [...new Set(cells.map((one) => one.champion_grade))]
  const columns = [...new Set([...rows, ...cells.map((one) => one.challenger_grade)])]
  const found = (from: string | null, to: string | null) =>
    cells.find((one) => one.champion_grade === from && one.challenger_grade === to)
  return (
    <>
      <p>
        {percent(stable_share)} keep their grade ({sampleSize(n)}). Rows are the champion's grades,
        columns the challenger's.
      </p>
      <ScrollTable caption="Migration of grades" className="swap">
        <thead>
          <tr>
            <td />
            {columns.map((grade) => (
              <th key={grade} scope="col">
                {grade ?? 'none'}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((from) => (
            <tr key={from}>
              <th scope="row">{from ?? 'none'}</th>
              {columns.map((to) => {
                const cell = found(from, to)
                return (
                  <td key={to} className={from === to || cell === undefined ? '' : 'swap-in'}>
                    {cell === undefined ? (
                      <span className="muted">0</span>
                    ) : (
                      <>
                        {whole(cell.n)} <span className="muted">{percent(cell.row_share)}</span>
                      </>
                    )}
                  </td>
                )
              })}
            </tr>
          ))}
        </tbody>
      </ScrollTable>
    </>
  )
}
