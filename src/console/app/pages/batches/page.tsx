import { NativeSelect, TextInput } from '@mantine/core'
import { useState } from 'react'
import { api, useAnswer } from '../../api/client.ts'
import { useDeployed, useDeploymentById } from '../../api/deployed.ts'
import { isOpen } from '../../api/jobs.ts'
import { post } from '../../api/send.ts'
import { useUser } from '../../api/state.ts'
import type { Schemas } from '../../api/types.ts'
import { Form } from '../../ui/dialog.tsx'
import { When } from '../../ui/facts.tsx'
import {
  Act,
  Box,
  DeploymentSelect,
  Download,
  FileField,
  listChoices,
  useFields,
} from '../../ui/fields.tsx'
import { counted, NONE, number, percent, whole } from '../../ui/figures.ts'
import { plainName } from '../../ui/names.ts'
import {
  Badge,
  type BadgeKind,
  EnvironmentBadge,
  NameLink,
  Page,
  Panel,
  Refused,
  TwoLines,
} from '../../ui/page.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { type Columns, ListTable, sorted } from '../../ui/table.tsx'

type Batch = Schemas['Batch']

const PATH = '/v1/batches'
const POLL_MS = 2_000
const KINDS: Readonly<Record<Schemas['JobStatus'], BadgeKind>> = {
  queued: '',
  running: '',
  done: 'good',
  failed: 'act',
  cancelled: '',
}

export default function BatchesPage() {
  const { mayAudit, mayDeploy } = useUser()
  if (!mayDeploy && !mayAudit) {
    const title = 'Your role can’t score files'
    return <Refused page="Batches" title={title} hint="An owner, admin or lead modeler can." />
  }
  return (
    <Page title="Batches">
      <p className="lead">
        A batch scores a file of applicants with one state of a deployment. Every applicant is in
        the score log and in the statistics, as if a server had sent them.
      </p>
      {mayDeploy && <UploadPanel />}
      <Files maySend={mayDeploy} />
    </Page>
  )
}

function Files({ maySend }: { maySend: boolean }) {
  const batches = useAnswer(
    PATH,
    {},
    {
      select: (found) => found.batches,
      refetchInterval: ({ state }) => (state.data?.batches.some(isOpen) ? POLL_MS : false),
    },
  )
  const byId = useDeploymentById()
  const hint = 'Results are kept for some days after the end.'
  const none = <Empty title="No file was scored yet" hint={hint} />
  return (
    <ListTable
      caption="Batches"
      of={batches}
      none={none}
      columns={makeColumns(byId, maySend)}
      detail={(batch) => <Details batch={batch} />}
    />
  )
}

function makeColumns(byId: ReturnType<typeof useDeploymentById>, maySend: boolean): Columns<Batch> {
  return [
    {
      head: 'File',
      cell: ({ id, input }) => (
        <TwoLines below={<code>{id}</code>}>
          <bdi>{input.path ?? input.name ?? `Upload of ${sizeText(input.bytes)}`}</bdi>
        </TwoLines>
      ),
      text: ({ id }) => id,
    },
    {
      head: 'Deployment',
      cell: ({ deployment_id: id, environment }) => (
        <div className="names">
          <NameLink to={`/deployments/${id}`} name={byId(id)?.name ?? id} />
          <EnvironmentBadge name={environment} />
        </div>
      ),
    },
    {
      head: 'State',
      cell: (batch) => (
        <div className="names">
          <Badge kind={KINDS[batch.status]}>{batch.status}</Badge>
          <Progress batch={batch} />
          {batch.message && <span className="small">{batch.message}</span>}
        </div>
      ),
      value: ({ status }) => status,
    },
    sorted('Scored', ({ counts }) => counts.scored, whole),
    {
      head: 'With warnings',
      figure: ({ counts: { warned, scored } }) =>
        warned === 0 ? '0' : `${whole(warned)} (${percent(warned / scored)})`,
      value: ({ counts }) => counts.warned,
    },
    sorted('Errors', ({ counts }) => counts.errors, whole),
    {
      head: 'Created',
      cell: ({ created_at: at, finished_at: end }) => (
        <TwoLines below={end && `took ${durationText(at, end)}`}>
          <When at={at} />
        </TwoLines>
      ),
      value: ({ created_at: at }) => at,
    },
    { head: 'Files', cell: (batch) => <BatchFiles batch={batch} mayCancel={maySend} /> },
  ]
}

function BatchFiles({ batch, mayCancel }: { batch: Batch; mayCancel: boolean }) {
  const { id, counts, results } = batch
  if (isOpen(batch)) {
    const cancel = () => api.POST('/v1/batches/{id}/cancel', { params: { path: { id } } })
    return (
      mayCancel && (
        <Act size="compact-sm" name={`Cancel the batch ${id}`} act={cancel} changes={[PATH]}>
          Cancel
        </Act>
      )
    )
  }
  return (
    <div className="row-actions">
      {results.parts > 0 && (
        <Download path={`/v1/batches/${id}/results`} name={`${id}.${results.format}`}>
          Results
        </Download>
      )}
      {counts.errors > 0 && (
        <Download path={`/v1/batches/${id}/errors`} name={`${id}-errors.ndjson`}>
          Errors
        </Download>
      )}
    </div>
  )
}

function Progress({ batch: { id, status, progress } }: { batch: Batch }) {
  const { done, total } = progress
  const label = `Progress of the batch ${id}`
  if (status === 'done') return <progress aria-label={label} max="1" value="1" />
  if (total === 0) {
    return <span className="muted small">{status === 'queued' ? 'waits' : NONE}</span>
  }
  return (
    <>
      <progress aria-label={label} max={total} value={done} />
      <span className="small muted">
        {whole(done)} of {whole(total)}
      </span>
    </>
  )
}

function Details({ batch }: { batch: Batch }) {
  const { unmatched, warnings, unknown_columns: columns, more_unknown_columns: more } = batch
  const isClean = unmatched.length + warnings.length + columns.length === 0
  return (
    <ul>
      {isClean && <li>Every value fell into a bin, and every column is a feature.</li>}
      {warnings.map(({ path, message }) => (
        <li key={path}>
          <bdi>{plainName(path)}</bdi>: {message}
        </li>
      ))}
      {unmatched.map(({ feature, values }) => (
        <li key={feature}>
          <bdi>{plainName(feature)}</bdi>: {counted(values, 'value')} in no bin
        </li>
      ))}
      {columns.length > 0 && (
        <li>
          Columns that no model reads: <bdi>{columns.join(', ')}</bdi>
          {more > 0 && ` and ${whole(more)} more`}
        </li>
      )}
      <li>
        Reference from the column <code>{batch.id_field}</code>;{' '}
        {batch.strict_mode ? 'strict about features' : 'missing values are scored by default'}.
      </li>
    </ul>
  )
}

const SIZES = ['bytes', 'kB', 'MB', 'GB'] as const

function sizeText(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(3, Math.floor(Math.log10(bytes) / 3))
  return `${number(Math.round((10 * bytes) / 1000 ** power) / 10)} ${SIZES[power]}`
}

function durationText(from: string, to: string): string {
  const seconds = (Date.parse(to) - Date.parse(from)) / 1000
  if (seconds < 90) return `${number(Math.round(10 * seconds) / 10)} s`
  return `${whole(seconds / 60)} min`
}

const TYPES: Readonly<Record<string, string>> = {
  csv: 'text/csv',
  ndjson: 'application/x-ndjson',
  jsonl: 'application/x-ndjson',
  parquet: 'application/vnd.apache.parquet',
}
const RESULTS = listChoices({ csv: 'CSV', ndjson: 'NDJSON', parquet: 'Parquet' })

/** Sends a file of applicants to be scored. The deployment is chosen by hand, never preselected. */
function UploadPanel() {
  const deployed = useDeployed()
  const { fields, bind } = useFields({ deployment: '', id_field: '', results: 'csv' })
  const [file, setFile] = useState<File | null>(null)
  const [hasPoints, setPoints] = useState(false)
  const [isStrict, setStrict] = useState(false)
  const send = async () => {
    if (file === null) return
    const ending = file.name.slice(file.name.lastIndexOf('.') + 1).toLowerCase()
    const query = new URLSearchParams({
      deployment: fields.deployment,
      name: file.name,
      results: fields.results,
      ...(fields.id_field !== '' && { id_field: fields.id_field }),
      ...(hasPoints && { include_contributions: 'true' }),
      ...(isStrict && { strict_mode: 'true' }),
    })
    const type = TYPES[ending] ?? 'text/csv'
    await post(`/v1/batches/upload?${query}`, file, type)
  }
  const missing =
    fields.deployment === ''
      ? 'Choose the deployment.'
      : file === null
        ? 'Choose the file of applicants.'
        : null
  const none = <Empty title="There is no deployment yet" hint="Deploy a scorecard first." />
  return (
    <Panel title="Score a file">
      <Loaded of={deployed} empty={none}>
        {() => (
          <Form
            send={send}
            missing={missing}
            submit="Score the file"
            busy="Sending …"
            changes={['/v1/batches']}
          >
            <div className="fields">
              <DeploymentSelect none="Choose …" {...bind('deployment')} />
              <FileField
                label="Applicants"
                description="CSV with a header of feature names, NDJSON, or Parquet"
                accept=".csv,.ndjson,.jsonl,.parquet"
                onChoose={setFile}
              />
              <TextInput
                label="Column of the reference"
                description="Optional; id when left out"
                maxLength={200}
                {...bind('id_field')}
              />
              <NativeSelect label="Results as" data={RESULTS} {...bind('results')} />
            </div>
            <Box label="With the points of each feature" isTicked={hasPoints} tick={setPoints} />
            <Box
              label="Put applicants with a missing feature among the errors"
              isTicked={isStrict}
              tick={setStrict}
            />
          </Form>
        )}
      </Loaded>
    </Panel>
  )
}
