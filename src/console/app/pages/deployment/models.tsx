import { useQuery } from '@tanstack/react-query'
import { read } from '../../api/client.ts'
import { useModelNames } from '../../api/deployments.ts'
import type { Schemas } from '../../api/types.ts'
import { Chart } from '../../ui/chart/chart.tsx'
import { milliseconds, number, percent, signed, whole } from '../../ui/figures.ts'
import { Panel } from '../../ui/page.tsx'
import { Loaded } from '../../ui/states.tsx'
import { DataTable } from '../../ui/table.tsx'
import { computeStart, useAbout } from './frame.tsx'

/** The models of a deployment side by side, and each challenger beside the champion. */
export function Models({ hours }: { hours: number }) {
  const { slug, cache_version: version } = useAbout().deployment
  const asked = useQuery({
    queryKey: ['/v1/deployments/{slug}/stats/models', slug, hours, version],
    queryFn: ({ signal }) => {
      const params = { path: { slug }, query: { from: computeStart(hours) } }
      return read('/v1/deployments/{slug}/stats/models', params, signal)
    },
  })
  return (
    <Loaded of={asked}>
      {(found) => (found.applicants === 0 ? null : <SideBySide found={found} />)}
    </Loaded>
  )
}

function SideBySide({ found }: { found: Schemas['ModelComparison'] }) {
  const modelName = useModelNames()
  const { models, challengers, applicants } = found
  return (
    <>
      <Panel title="By model">
        <DataTable
          caption="Models side by side"
          rows={models}
          columns={[
            { head: 'Model', cell: (one) => modelName(one.model_id) },
            { head: 'Role', cell: ({ role }) => role },
            {
              head: 'Answered',
              figure: ({ served }) => `${whole(served)} (${percent(served / applicants)})`,
            },
            { head: 'Scored', figure: ({ scored }) => whole(scored) },
            { head: 'Average score', figure: (one) => number(one.avg_score) },
            { head: 'Average PD', figure: (one) => percent(one.avg_pd) },
            {
              head: 'Latency p50, p95',
              figure: (one) =>
                `${milliseconds(one.p50_latency_ms)}, ${milliseconds(one.p95_latency_ms)}`,
            },
          ]}
        />
        <Histograms models={models} />
      </Panel>
      {challengers.map((one) => (
        <Compared key={`${one.challenger_id} ${one.champion_model_id}`} compared={one} />
      ))}
    </>
  )
}

function Histograms({ models }: { models: readonly Schemas['ComparedModel'][] }) {
  const modelName = useModelNames()
  const drawn = models.flatMap(({ model_id: id, role, scores }) =>
    scores === null ? [] : [{ name: `${modelName(id)}, ${role}`, ...scores }],
  )
  const at = [...new Set(drawn.flatMap(listBins))].toSorted((a, b) => a - b)
  if (at.length < 2) return null
  return (
    <Chart
      title="Scores"
      at={at}
      atName="Score from"
      formatAt={number}
      series={drawn.map((one) => {
        const counts = new Map(listBins(one).map((bin, index) => [bin, one.counts[index] ?? 0]))
        return { name: one.name, values: at.map((bin) => counts.get(bin) ?? 0) }
      })}
      format={whole}
      from={0}
    />
  )
}

function listBins({ low, width, counts }: Schemas['Histogram']): number[] {
  return counts.map((_, index) => low + index * width)
}

function Compared({ compared }: { compared: Schemas['ComparedChallenger'] }) {
  const modelName = useModelNames()
  const { differences, grades, compared: n, failed } = compared
  const moved = grades.filter((one) => one.champion !== one.challenger)
  const movedCount = moved.reduce((sum, { applicants }) => sum + applicants, 0)
  const name = modelName(compared.model_id)
  const champion = modelName(compared.champion_model_id)
  const within = `${signed(compared.p5_difference)} … ${signed(compared.p95_difference)}`
  return (
    <Panel title={`${name} beside ${champion}`}>
      <p>
        Of {whole(n)} applicants that both have scored, {whole(movedCount)} (
        {percent(n === 0 ? null : movedCount / n)}) get another grade. Its scores differ by{' '}
        {signed(compared.avg_difference)} on average, for 90 % within {within}.
        {failed > 0 && ` ${whole(failed)} could not be scored by it.`}
      </p>
      {differences && (
        <Chart
          title={`Score of ${name} less that of ${champion}`}
          at={listBins(differences)}
          atName="Points from"
          formatAt={(value) => signed(value)}
          series={[{ name: 'Applicants', values: differences.counts, kind: 'bars' }]}
          format={whole}
          from={0}
        />
      )}
    </Panel>
  )
}
