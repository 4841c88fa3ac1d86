import { Button, Textarea, TextInput } from '@mantine/core'
import { useEffect, useState } from 'react'
import { api, read, readData, useAnswer } from '../../api/client.ts'
import { ApiError } from '../../api/errors.ts'
import { useDefinitions } from '../../api/reports.ts'
import { post } from '../../api/send.ts'
import { renewAnswers, useUser } from '../../api/state.ts'
import type { Schemas } from '../../api/types.ts'
import { Form, FormDialog } from '../../ui/dialog.tsx'
import { FileField, useFields } from '../../ui/fields.tsx'
import { counted, whole } from '../../ui/figures.ts'
import { Page, Panel, TwoLines } from '../../ui/page.tsx'
import { Empty, Loaded, Notice } from '../../ui/states.tsx'
import { actions, type Columns, ListTable } from '../../ui/table.tsx'

type Definition = Schemas['OutcomeDefinition']

export default function OutcomesPage() {
  const { mayDeploy } = useUser()
  const definitions = useDefinitions()
  const [asked, setAsked] = useState<Definition | 'new' | null>(null)
  const hint = mayDeploy
    ? 'Define an outcome, then upload what became of applicants.'
    : 'An owner, admin or lead modeler can define an outcome.'
  const none = <Empty title="Nothing counts as bad yet" hint={hint} />
  return (
    <Page
      title="Outcomes"
      actions={mayDeploy && <Button onClick={() => setAsked('new')}>Define an outcome</Button>}
    >
      <p className="lead">
        Performance compares scores with what became of the applicants. A definition says when an
        account is bad, and when its outcome is ripe.
      </p>
      <Panel title="Definitions">
        <ListTable
          caption="Definitions of outcomes"
          of={definitions}
          none={none}
          columns={makeColumns(mayDeploy ? setAsked : null)}
        />
      </Panel>
      {mayDeploy && <ImportPanel />}
      {asked !== null && (
        <DefinitionDialog present={asked === 'new' ? null : asked} onClose={() => setAsked(null)} />
      )}
    </Page>
  )
}

function makeColumns(change: ((one: Definition) => void) | null): Columns<Definition> {
  return [
    {
      head: 'Definition',
      cell: ({ id, label }) => (
        <TwoLines below={<code>{id}</code>}>
          <bdi>{label}</bdi>
        </TwoLines>
      ),
      value: ({ label }) => label.toLowerCase(),
    },
    { head: 'Bad is', cell: ({ bad_rule_text: rule }) => <bdi className="wrap">{rule}</bdi> },
    {
      head: 'Within',
      cell: ({ window_months: months }) => `${counted(months, 'month')} of booking`,
      value: ({ window_months: months }) => months,
    },
    {
      head: 'Ripe after',
      cell: ({ maturity_months: months }) => counted(months, 'month'),
      value: ({ maturity_months: months }) => months,
    },
    actions('Change', change && ((one) => [['Change', `Change ${one.label}`, () => change(one)]])),
  ]
}

const TAKEN = 'Another definition has this short name.'

function overtakenText(now: Definition | null): string {
  const what = now === null ? 'nothing' : `“${now.label}”, bad is “${now.bad_rule_text}”`
  return `Somebody else has changed the definition in the meantime: now ${what}. Save again to set what stands here.`
}

const MONTHS = { type: 'number', min: 1, step: 1, required: true } as const

/** Defines what counts as bad; one that outcomes refer to can't change its rule. */
function DefinitionDialog(props: { present: Definition | null; onClose: () => void }) {
  const { present, onClose } = props
  // The definition that the form began with.
  const [known, setKnown] = useState(present)
  const { fields, bind } = useFields({
    id: present?.id ?? '',
    label: present?.label ?? '',
    rule: present?.bad_rule_text ?? '',
    window: String(present?.window_months ?? 12),
    maturity: String(present?.maturity_months ?? 12),
  })
  const send = async () => {
    const { outcome_definitions: all } = await read('/v1/outcome-definitions', {})
    const now = all.find(({ id }) => id === fields.id) ?? null
    if (present === null && now !== null) throw new ApiError('changed', TAKEN)
    if (JSON.stringify(now) !== JSON.stringify(known)) {
      setKnown(now)
      throw new ApiError('changed', overtakenText(now))
    }
    const body = {
      label: fields.label,
      window_months: Number(fields.window),
      bad_rule_text: fields.rule,
      maturity_months: Number(fields.maturity),
    }
    const params = { path: { id: fields.id } }
    return readData(api.PUT('/v1/outcome-definitions/{id}', { params, body }))
  }
  return (
    <FormDialog
      title={present === null ? 'Define an outcome' : `Change ${present.label}`}
      send={send}
      changes={['/v1/outcome-definitions', '/v1/deployments/{slug}/performance']}
      onClose={onClose}
    >
      {present === null && (
        <TextInput
          label="Short name"
          description="What files of outcomes name it by, such as gb12"
          required
          maxLength={64}
          pattern="[A-Za-z0-9_\-]+"
          title="Letters, digits, - and _"
          {...bind('id')}
        />
      )}
      <TextInput
        label="Name"
        description="Such as “Bad within 12 months”"
        required
        maxLength={255}
        {...bind('label')}
      />
      <Textarea
        label="When an account is bad"
        description="Such as “90 days past due, or written off”"
        required
        maxLength={2000}
        {...bind('rule')}
      />
      <TextInput
        {...MONTHS}
        label="Months after booking within which an account counts as bad"
        {...bind('window')}
      />
      <TextInput
        {...MONTHS}
        label="Months after booking from which an outcome is ripe"
        {...bind('maturity')}
      />
    </FormDialog>
  )
}

const PATH = '/v1/outcomes/imports/{id}'
const POLL_MS = 1_000
const FAULTS_MAX = 20
const CHANGED = [
  '/v1/deployments/{slug}/performance',
  '/v1/deployments/{slug}/performance/vintages',
  '/v1/overview',
]

function ImportPanel() {
  const [file, setFile] = useState<File | null>(null)
  const [id, setId] = useState<string | null>(null)
  const send = async () => {
    if (file === null) return
    setId(null)
    const started = await post<{ id: string }>('/v1/outcomes/imports', file, 'text/csv')
    setId(started.id)
  }
  return (
    <Panel title="Upload outcomes">
      <Form
        send={send}
        submit="Upload"
        busy="Sending …"
        missing={file === null ? 'Choose a file.' : null}
      >
        <FileField
          label="Outcomes"
          description="A CSV file with a header, such as deployment, reference, kind, definition, outcome, as_of"
          accept=".csv,text/csv"
          onChoose={setFile}
        />
      </Form>
      {id !== null && <ImportProgress id={id} />}
    </Panel>
  )
}

function ImportProgress({ id }: { id: string }) {
  const asked = useAnswer(
    PATH,
    { path: { id } },
    { refetchInterval: ({ state }) => (state.data?.status === 'running' ? POLL_MS : false) },
  )
  const status = asked.data?.status
  useEffect(() => {
    if (status !== 'done') return
    void renewAnswers(CHANGED)
  }, [status])
  return <Loaded of={asked}>{(found) => <Progress found={found} />}</Loaded>
}

const WORDS: Readonly<Record<Schemas['OutcomeImportStatus'], string>> = {
  running: 'Reading',
  done: 'Done',
  failed: 'Failed',
}

function Progress({ found }: { found: Schemas['OutcomeImport'] }) {
  const { status, lines, counts, errors } = found
  const isBad = status === 'failed' || counts.invalid > 0
  // The header of a file is a line, too.
  const outcomes = Math.max(0, lines - 1)
  return (
    <Notice kind={isBad ? 'watch' : 'good'}>
      <p>
        <strong>{WORDS[status]}:</strong> {counted(outcomes, 'outcome')}; {whole(counts.accepted)}{' '}
        accepted, {whole(counts.unchanged)} unchanged, {whole(counts.revised)} revised,{' '}
        {whole(counts.unmatched)} without a known score, {whole(counts.ambiguous)} ambiguous,{' '}
        {whole(counts.invalid)} invalid.
      </p>
      {errors.length > 0 && (
        <ul>
          {errors.slice(0, FAULTS_MAX).map(({ line, message }) => (
            <li key={`${line} ${message}`}>
              Line {whole(line)}: {message}
            </li>
          ))}
        </ul>
      )}
      {errors.length > FAULTS_MAX && <p>… and {whole(errors.length - FAULTS_MAX)} more.</p>}
    </Notice>
  )
}
