import { NativeSelect, TextInput } from '@mantine/core'
import { useState } from 'react'
import { asApiError, type FaultDetail } from '../../api/errors.ts'
import { post } from '../../api/send.ts'
import { useUser } from '../../api/state.ts'
import type { Schemas } from '../../api/types.ts'
import { Form } from '../../ui/dialog.tsx'
import { Box, FileField, useFields } from '../../ui/fields.tsx'
import { counted } from '../../ui/figures.ts'
import { Page, Panel } from '../../ui/page.tsx'
import { Empty, Notice } from '../../ui/states.tsx'
import { ENVIRONMENTS } from '../import/verdict.tsx'
import { findLine, type JsonLines, readJsonLines } from './json-lines.ts'
import { Registered } from './registered.tsx'

export default function UploadPage() {
  const { mayDeploy } = useUser()
  return (
    <Page title="Upload a scorecard" subject="Models">
      {mayDeploy ? (
        <Upload />
      ) : (
        <Empty title="Your role can’t upload" hint="An owner, admin or lead modeler can." />
      )}
    </Page>
  )
}

function Upload() {
  const [file, setFile] = useState<SpecFile | null>(null)
  const [done, setDone] = useState<Schemas['DeployResult'] | null>(null)
  const [faults, setFaults] = useState<readonly LineFault[]>([])
  const [doesDeploy, setDeploy] = useState(false)
  const { fields, bind } = useFields({ environment: 'staging', description: '' })
  const choose = async (chosen: File | null) => {
    setDone(null)
    setFaults([])
    if (chosen === null) return setFile(null)
    const text = await chosen.text()
    const lines = readJsonLines(text)
    setFile({ name: chosen.name, text, lines })
    if (lines.fault !== null) setFaults([{ ...lines.fault, path: '' }])
  }
  const upload = async () => {
    if (file === null) return
    setDone(null)
    const rest = JSON.stringify({
      environment: fields.environment,
      auto_deploy: doesDeploy,
      ...(fields.description !== '' && { description: fields.description }),
    })
    const body = `{"spec":${file.text.replace(/^\uFEFF/, '')},${rest.slice(1)}`
    try {
      setDone(await post<Schemas['DeployResult']>('/v1/models/deploy', body))
    } catch (thrown) {
      const { code, details } = asApiError(thrown)
      if (code !== 'invalid_spec' || details.length === 0) throw thrown
      setFaults(
        details
          .map((detail) => ({ ...detail, line: findLine(file.lines, detail.path) }))
          .sort((a, b) => a.line - b.line),
      )
    }
  }
  const missing =
    file === null
      ? 'Choose the file of the scorecard.'
      : faults.length > 0
        ? 'Correct the file, then choose it again.'
        : null
  return (
    <>
      <Panel>
        <Form
          send={upload}
          submit="Upload"
          busy="Checking and registering …"
          missing={missing}
          changes={['/v1/models', '/v1/overview', '/v1/deployments', '/v1']}
        >
          <FileField
            label="Scorecard"
            description="The JSON file from your modeling tool"
            accept=".json,application/json"
            onChoose={(chosen) => void choose(chosen)}
          />
          <NativeSelect label="Environment" data={ENVIRONMENTS} {...bind('environment')} />
          <TextInput label="Description (optional)" maxLength={10_000} {...bind('description')} />
          <Box
            label="Deploy it as the champion of a new deployment. Otherwise it is only registered, for example to become a challenger."
            isTicked={doesDeploy}
            tick={setDeploy}
          />
        </Form>
      </Panel>
      {done && <Registered result={done} />}
      {file && faults.length > 0 && <Faults file={file} faults={faults} />}
    </>
  )
}

interface SpecFile {
  readonly name: string
  readonly text: string
  readonly lines: JsonLines
}

interface LineFault extends FaultDetail {
  readonly line: number
}

const LINES_AROUND = 2
const FAULTS_MAX = 100
const LINE_CHARS_MAX = 400

/** Each fault with its line and the lines around it; a file of one line is shown once. */
function Faults({ file, faults }: { file: SpecFile; faults: readonly LineFault[] }) {
  const lines = file.text.split('\n')
  const shown = faults.slice(0, FAULTS_MAX)
  return (
    <section>
      <Notice kind="watch">
        <strong>
          <bdi>{file.name}</bdi> has {counted(faults.length, 'fault')}; nothing was registered.
        </strong>{' '}
        Correct the file, then choose it again.
      </Notice>
      <ol className="faults">
        {shown.map((fault, at) => (
          <li key={`${fault.line} ${fault.path} ${fault.message}`}>
            <p>
              <strong>Line {fault.line}</strong>
              {fault.path && (
                <>
                  {' '}
                  <code>{fault.path}</code>
                </>
              )}
              : {fault.message}
            </p>
            {(lines.length > 1 || at === 0) && <Around lines={lines} line={fault.line} />}
          </li>
        ))}
      </ol>
      {faults.length > shown.length && <p>… and {faults.length - shown.length} more.</p>}
    </section>
  )
}

function Around({ lines, line }: { lines: readonly string[]; line: number }) {
  const first = Math.max(0, line - 1 - LINES_AROUND)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region needs the keyboard
    <section className="scroll" tabIndex={0} aria-label={`Lines around ${line}`}>
      <pre>
        {lines.slice(first, line + LINES_AROUND).map((text, at) => {
          const number = first + at + 1
          return (
            <span key={number} className={number === line ? 'code-line marked' : 'code-line'}>
              <span className="line-number">{number}</span>
              {text.slice(0, LINE_CHARS_MAX)}
              {'\n'}
            </span>
          )
        })}
      </pre>
    </section>
  )
}
