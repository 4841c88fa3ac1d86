import { useEffect, useState } from 'react'
import { useAnswer } from '../../api/client.ts'
import { post } from '../../api/send.ts'
import { renewAnswers } from '../../api/state.ts'
import type { Schemas } from '../../api/types.ts'
import { Form } from '../../ui/dialog.tsx'
import { FileField } from '../../ui/fields.tsx'
import { counted, whole } from '../../ui/figures.ts'
import { Panel } from '../../ui/page.tsx'
import { Loaded, Notice } from '../../ui/states.tsx'

const PATH = '/v1/outcomes/imports/{id}'
const POLL_MS = 1_000
const FAULTS_MAX = 20
const CHANGED = [
  '/v1/deployments/{slug}/performance',
  '/v1/deployments/{slug}/performance/vintages',
  '/v1/overview',
]

export function ImportPanel() {
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
