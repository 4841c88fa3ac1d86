import { Link, useParams } from '@tanstack/react-router'
import { useAnswer } from '../../api/client.ts'
import { useDeploymentById } from '../../api/deployed.ts'
import { useModel } from '../../api/deployments.ts'
import { useNames } from '../../api/names.ts'
import type { Schemas } from '../../api/types.ts'
import { featureNames } from '../../ui/card.ts'
import { whenExactly } from '../../ui/dates.ts'
import { Copy, Facts } from '../../ui/facts.tsx'
import { NONE, number, percent, whole } from '../../ui/figures.ts'
import { withVersion } from '../../ui/names.ts'
import { Badge, NameLink, Page, Panel } from '../../ui/page.tsx'
import { Empty, Loaded, Loading } from '../../ui/states.tsx'
import { ExplanationPanels } from './explanation.tsx'
import { ProofPanel } from './proof-panel.tsx'
import { LoggedBin, Waterfall } from './waterfall.tsx'

type Logged = Schemas['LoggedScore']
type Result = Schemas['LoggedResult']

/** The dossier of one decision: what was answered, why, the letter, and the proof. */
export default function DossierPage() {
  const { requestId = '', record: index = '0' } = useParams({ strict: false }) as {
    requestId?: string
    record?: string
  }
  const record = Math.max(0, Number.parseInt(index, 10) || 0)
  // Without an index, an empty batch is found, too.
  const query = record === 0 ? { limit: 1 } : { record }
  const loaded = useAnswer('/v1/scores/{request_id}', { path: { request_id: requestId }, query })
  const deployment = useDeploymentById()(loaded.data?.deployment_id ?? '')
  const found = loaded.data
  const reference = found?.reference ?? found?.records[0]?.id ?? null
  return (
    <Page
      title={reference === null ? 'Score' : `Score of ${reference}`}
      subject={deployment?.name ?? 'Decision'}
      environment={deployment?.environment}
      facts={found === undefined ? [] : [`Scored ${whenExactly(found.scored_at)}`]}
      actions={found && <Copy text={requestId} label="Copy the request id" />}
    >
      <Loaded of={loaded}>
        {(score) => (
          <>
            {score.is_batch && <Pager score={score} record={record} />}
            {score.records.length === 0 ? (
              <Empty title="The batch has no records" hint="It was sent empty." />
            ) : (
              <Decision score={score} record={record} />
            )}
          </>
        )}
      </Loaded>
    </Page>
  )
}

function Pager({ score, record }: { score: Logged; record: number }) {
  const { request_id: requestId, total } = score
  const to = (index: number, text: string) =>
    index >= 0 && index < total ? (
      <Link to={`/scores/${requestId}/${index}` as string}>{text}</Link>
    ) : (
      <span className="muted">{text}</span>
    )
  if (total === 0) return null
  return (
    <nav className="filters" aria-label="Records of the batch">
      {to(record - 1, 'Previous')}
      <span>
        Record {whole(record + 1)} of {whole(total)}
      </span>
      {to(record + 1, 'Next')}
    </nav>
  )
}

function Decision({ score, record }: { score: Logged; record: number }) {
  const results = score.records[0]?.results ?? []
  const served = results.find((one) => one.served)
  return (
    <>
      {served && <Answer score={score} result={served} record={record} />}
      {results
        .filter((one) => one !== served)
        .map((one) => (
          <Panel key={`${one.model_id} ${one.challenger_id}`} title={<ResultTitle result={one} />}>
            <Points result={one} />
          </Panel>
        ))}
      <Circumstances score={score} />
    </>
  )
}

function ResultTitle({ result }: { result: Result }) {
  return (
    <>
      <NameLink
        to={`/models/${result.model_id}`}
        name={withVersion(result.model_name, result.model_version)}
      />{' '}
      <Badge>{result.role}</Badge> {result.served && <Badge kind="good">answered</Badge>}
    </>
  )
}

/** The answer, its reasons, letter, proof and points, in the order of a complaint. */
function Answer({ score, result, record }: { score: Logged; result: Result; record: number }) {
  const model = useModel(result.model_id)
  return (
    <>
      <Panel title={<ResultTitle result={result} />}>
        <Facts
          isLarge
          facts={[
            ['Score', <strong key="score">{number(result.score)}</strong>],
            ['Grade', <bdi key="grade">{result.risk_grade ?? NONE}</bdi>],
            ['Probability of default', percent(result.pd)],
          ]}
        />
      </Panel>
      {model.data === undefined && model.error === null && <Loading />}
      {model.data && result.score !== null && (
        <ExplanationPanels
          requestId={score.request_id}
          record={record}
          scoredAt={score.scored_at}
          spec={model.data.spec}
        />
      )}
      <ProofPanel score={score} result={result} record={record} />
      <Panel title="Points of each feature">
        <Points result={result} />
      </Panel>
    </>
  )
}

function Points({ result }: { result: Result }) {
  const { score, base_points: base, features } = result
  const model = useModel(result.model_id)
  const nameFeature = featureNames(model.data?.spec)
  const byName = new Map(model.data?.spec.features.map((one) => [one.name, one]))
  if (score === null || base === null) {
    return (
      <p className="muted">
        The challenger failed to score this applicant; the answer came from the champion.
      </p>
    )
  }
  return (
    <>
      <Waterfall
        caption={`Points of each feature in ${withVersion(result.model_name, result.model_version)}`}
        base={base}
        score={score}
        detail="Value in"
        steps={features.map((one) => ({
          name: nameFeature(one.name),
          points: one.points,
          detail: <LoggedBin logged={one} />,
          feature: byName.get(one.name),
        }))}
      />
      <p className="small muted">
        Specification SHA-256 <code>{result.spec_sha256}</code>
      </p>
    </>
  )
}

function Circumstances({ score }: { score: Logged }) {
  const { deployment_id: id, key_id: keyId, bucket, latency_ms: latency } = score
  const names = useNames()
  return (
    <Panel title="Circumstances">
      <Facts
        facts={[
          ['Request', <code key="id">{score.request_id}</code>],
          [
            'Deployment',
            <NameLink key="deployment" to={`/deployments/${id}`} name={names.get(id) ?? id} />,
          ],
          ['Asked by key', <bdi key="key">{names.get(keyId) ?? keyId}</bdi>],
          ['Answered in', `${number(latency)} ms`, score.is_batch ? 'for the batch' : undefined],
          bucket !== null && ['Bucket of the split', `${whole(bucket)} of 10,000`],
          ['Changes of the deployment before it', whole(score.cache_version)],
        ]}
      />
    </Panel>
  )
}
