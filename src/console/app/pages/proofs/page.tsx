import { NativeSelect, TextInput } from '@mantine/core'
import { useState } from 'react'
import { api, read, readData, useAnswer } from '../../api/client.ts'
import { readFile, saveFile, saveText } from '../../api/send.ts'
import { useUser } from '../../api/state.ts'
import type { Schemas } from '../../api/types.ts'
import { whenExactly } from '../../ui/dates.ts'
import { Form } from '../../ui/dialog.tsx'
import { Copy, Facts } from '../../ui/facts.tsx'
import { DeploymentSelect, Download, listChoices, useFields } from '../../ui/fields.tsx'
import { counted, whole } from '../../ui/figures.ts'
import { Page, Panel } from '../../ui/page.tsx'
import { endOfDay } from '../../ui/period.tsx'
import { Loaded, Notice } from '../../ui/states.tsx'

const FORMATS = listChoices({ csv: 'CSV', ndjson: 'NDJSON', parquet: 'Parquet' })

/** The score log as evidence: its checkpoint, proofs of its growth, exports and erasures. */
export default function ProofsPage() {
  const { mayAudit, mayManage } = useUser()
  return (
    <Page title="Log and proofs">
      <CheckpointPanel />
      <Growth />
      {mayAudit && <LogExport />}
      {mayManage && <Erasure />}
    </Page>
  )
}

function CheckpointPanel() {
  const asked = useAnswer('/v1/log/checkpoint', {})
  const verifier = useAnswer('/v1/log/key', {})
  return (
    <Panel
      title="Checkpoint"
      actions={
        <Download path="/v1/log/checkpoint" name="checkpoint.json">
          Download the checkpoint
        </Download>
      }
    >
      <p className="muted">
        One signed line stands for the whole log. Keep checkpoints and the key elsewhere: who has an
        older one can prove that nothing before it was altered since.
      </p>
      <Loaded of={asked}>
        {({ origin, size, root, checkpoint }) => (
          <>
            <Facts
              facts={[
                ['Log', <code key="origin">{origin}</code>],
                ['Blocks', whole(size)],
                ['Root', <code key="root">{root}</code>],
              ]}
            />
            <pre className="letter">{checkpoint}</pre>
          </>
        )}
      </Loaded>
      {asked.data && (
        <Loaded of={verifier}>
          {({ key }) => (
            <p>
              Key of the verifier: <code>{key}</code> <Copy text={key} label="Copy the key" />
            </p>
          )}
        </Loaded>
      )}
    </Panel>
  )
}

/** Proves that the log of an older checkpoint is the beginning of the present one. */
function Growth() {
  const { fields, bind } = useFields({ from: '' })
  const [found, setFound] = useState<Schemas['Consistency'] | null>(null)
  const send = async () => {
    setFound(null)
    const { size: to } = await read('/v1/log/checkpoint', {})
    const proof = await read('/v1/log/consistency', { query: { from: Number(fields.from), to } })
    setFound(proof)
    saveText(`consistency-${proof.from}-to-${proof.to}.json`, JSON.stringify(proof))
  }
  return (
    <Panel title="Nothing was removed">
      <Form send={send} submit="Prove it" busy="Asking …">
        <TextInput
          type="number"
          min={0}
          step={1}
          required
          label="Blocks of an older checkpoint"
          description="The second line of a checkpoint that you kept"
          {...bind('from')}
        />
        {found && (
          <Notice kind="good">
            The file proves that the log of {counted(found.from, 'block')} is the beginning of that
            of {whole(found.to)}: check it with <code>verify-proof.mjs</code> and both checkpoints.
          </Notice>
        )}
      </Form>
    </Panel>
  )
}

function LogExport() {
  const today = new Date().toISOString().slice(0, 10)
  const { fields, bind } = useFields({ first: today, last: today, format: 'csv', deployment: '' })
  const send = async () => {
    const { first, last, format, deployment } = fields
    const query = new URLSearchParams({
      format,
      from: `${first}T00:00:00.000Z`,
      to: endOfDay(last),
      ...(deployment !== '' && { deployment }),
    })
    const file = await readFile(`/v1/log/export?${query}`)
    saveFile(`score-log-${first}-to-${last}.${format}`, file)
  }
  return (
    <Panel title="Export">
      <Form send={send} submit="Export" busy="Exporting …">
        <div className="fields">
          <TextInput type="date" required max={today} label="First day (UTC)" {...bind('first')} />
          <TextInput type="date" required max={today} label="Last day (UTC)" {...bind('last')} />
          <DeploymentSelect none="All" {...bind('deployment')} />
          <NativeSelect label="Format" data={FORMATS} {...bind('format')} />
        </div>
      </Form>
    </Panel>
  )
}

function Erasure() {
  const { fields, bind } = useFields({ reference: '', again: '' })
  const [done, setDone] = useState<Schemas['LogErasure'] | null>(null)
  const send = async () => {
    setDone(null)
    const body = { reference: fields.reference }
    setDone(await readData(api.POST('/v1/log/erasures', { body })))
  }
  return (
    <Panel title="Erase a reference">
      <p className="muted">
        Takes the reference of an applicant out of the log, for a request to be forgotten. Scores
        stay, without it. This can’t be undone.
      </p>
      <Form
        send={send}
        submit="Erase it"
        busy="Erasing …"
        isDanger
        missing={fields.reference === fields.again ? null : 'Type the reference twice.'}
        changes={['/v1/scores', '/v1/audit-log']}
      >
        <div className="fields">
          <TextInput label="Reference" required {...bind('reference')} />
          <TextInput label="The reference again" required {...bind('again')} />
        </div>
        {done && (
          <Notice kind="good">
            Erased in {counted(done.places, 'place')} of {counted(done.requests, 'request')}, scored
            until {whenExactly(done.covers_until)}.
          </Notice>
        )}
      </Form>
    </Panel>
  )
}
