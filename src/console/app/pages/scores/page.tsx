import { Button, TextInput } from '@mantine/core'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { type FormEvent, type ReactNode, useState } from 'react'
import { read } from '../../api/client.ts'
import { useDeploymentById } from '../../api/deployed.ts'
import { useUser } from '../../api/state.ts'
import type { Schemas } from '../../api/types.ts'
import { type Search, useAddress } from '../../ui/address.ts'
import { When } from '../../ui/facts.tsx'
import { DeploymentSelect, typed } from '../../ui/fields.tsx'
import { NONE, number, percent } from '../../ui/figures.ts'
import { EnvironmentBadge, NameLink, Page, TwoLines } from '../../ui/page.tsx'
import { Pages, usePages } from '../../ui/pages.tsx'
import { Days, readDays } from '../../ui/period.tsx'
import { Empty } from '../../ui/states.tsx'
import { type Columns, DataTable, sorted } from '../../ui/table.tsx'

type Score = Schemas['FoundScore']

const PATH = '/v1/scores'

export default function ScoresPage() {
  const { text } = useParams({ strict: false }) as { text?: string }
  const { mayAudit } = useUser()
  const [search] = useAddress()
  const wanted = search['reference'] ?? text ?? ''
  return (
    <Page title="Scores">
      <Finder key={wanted} wanted={wanted} search={search} />
      {wanted === '' ? (
        <Empty title="Which score?">
          <p>
            The log keeps every answer. Enter the id of a request, or any part of the reference of
            an application: what the caller sent as <code>X-Reference-Id</code>, or the{' '}
            <code>id</code> of a record in a batch.
          </p>
          {mayAudit && (
            <p>
              Whole days of the log as a file: <Link to={'/proofs' as string}>Log and proofs</Link>.
            </p>
          )}
        </Empty>
      ) : (
        <Results wanted={wanted} search={search} />
      )}
    </Page>
  )
}

function Finder({ wanted, search }: { wanted: string; search: Search }) {
  const [text, setText] = useState(wanted)
  const [, , bind] = useAddress()
  const navigate = useNavigate()
  const find = (event: FormEvent) => {
    event.preventDefault()
    const sought = text.trim()
    if (/^req_\w+$/.test(sought)) void navigate({ to: `/scores/${sought}` as string })
    else {
      const { deployment, from, to } = search
      const next = { reference: sought, deployment, from, to }
      void navigate({ to: '/scores' as string, search: next })
    }
  }
  return (
    <search>
      <form className="filters" onSubmit={find}>
        <TextInput
          type="search"
          label="Request id, or any part of a reference"
          className="wide-field"
          required
          {...typed(text, setText)}
        />
        <DeploymentSelect none="All" {...bind('deployment')} />
        <Days />
        <Button type="submit">Find</Button>
      </form>
    </search>
  )
}

interface Sought {
  readonly wanted: string
  readonly search: Search
}

/** Scores of a reference; where there are none, those whose reference contains it. */
function Results({ wanted, search }: Sought) {
  return (
    <Found wanted={wanted} search={search} match="whole">
      <Found wanted={wanted} search={search} match="part">
        <Empty
          title="No score has this reference, or one that contains it"
          hint="Check its spelling, the deployment and the days. A score appears within two seconds of its answer."
        />
      </Found>
    </Found>
  )
}

/** @param children what is shown where nothing is found */
function Found(props: Sought & { match: 'whole' | 'part'; children: ReactNode }) {
  const { wanted, search, match, children } = props
  const deployment = search['deployment'] || undefined
  const query = { match, reference: wanted, deployment, ...readDays(search) }
  const list = usePages([PATH, query], (page, signal) =>
    read(PATH, { query: { ...query, ...page } }, signal),
  )
  const byId = useDeploymentById()
  return (
    <Pages of={list} rows={({ scores }) => scores}>
      {(scores) =>
        scores.length > 0 ? (
          <>
            {match === 'part' && (
              <p>
                No score has exactly this reference. These references contain it, in capitals or
                small letters; newest first.
              </p>
            )}
            <DataTable
              caption="Scores"
              rows={scores}
              columns={makeColumns(byId)}
              rowKey={(one) => `${one.request_id} ${one.record_index}`}
            />
          </>
        ) : list.hasNextPage ? (
          <p role="status">None among the newest scores. Older ones were not looked at yet.</p>
        ) : (
          children
        )
      }
    </Pages>
  )
}

function makeColumns(byId: ReturnType<typeof useDeploymentById>): Columns<Score> {
  return [
    {
      head: 'Reference',
      cell: ({ reference, request_id: request, record_index: record }) => (
        <TwoLines below={<code>{request}</code>}>
          <NameLink to={`/scores/${request}/${record}`} name={reference} />
        </TwoLines>
      ),
      value: ({ reference }) => reference,
    },
    {
      head: 'When',
      cell: ({ scored_at: at }) => <When at={at} isExact />,
      value: ({ scored_at: at }) => at,
    },
    {
      head: 'Deployment',
      cell: ({ deployment_id: id, model_version: version }) => {
        const deployment = byId(id)
        return (
          <div className="names">
            <NameLink to={`/deployments/${id}`} name={deployment?.name ?? id} />
            <span className="badges">
              {deployment && <EnvironmentBadge name={deployment.environment} />}
              <span className="small muted">
                version <bdi>{version}</bdi>
              </span>
            </span>
          </div>
        )
      },
      value: ({ deployment_id: id }) => byId(id)?.name ?? id,
    },
    sorted('Score', ({ score }) => score, number),
    { head: 'Grade', cell: ({ risk_grade: grade }) => grade ?? NONE },
    sorted('PD', ({ pd }) => pd, percent),
  ]
}
