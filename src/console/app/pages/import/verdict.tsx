import { NativeSelect, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { Environment, Schemas } from '../../api/types.ts'
import { gatherNotes } from '../../ui/card.ts'
import { Form } from '../../ui/dialog.tsx'
import { Box, listChoices, useFields } from '../../ui/fields.tsx'
import { counted, number, percent, signed, whole } from '../../ui/figures.ts'
import { CertificateView } from '../../ui/parity/certificate.tsx'
import { Notice } from '../../ui/states.tsx'
import { PlainTable } from '../../ui/table.tsx'
import { Card } from '../model/card.tsx'
import { NoteList, Registered } from '../upload/registered.tsx'

type Result = Schemas['ImportResult']

export const ENVIRONMENTS = listChoices({
  staging: 'Staging: to try it',
  production: 'Production: to decide',
})

export function ImportVerdict(props: {
  result: Result
  writeLabel: (path: string) => string
  register: ((target: Schemas['ImportRegistration']) => Promise<void>) | null
}) {
  const { result, writeLabel, register } = props
  const { tool, spec, faults, parity, differences, conversions, registered } = result
  const isFit = spec !== null && parity?.agrees !== false
  return (
    <section className="panel" aria-label="Verdict">
      <h2 id="import-verdict" tabIndex={-1}>
        Verdict
      </h2>
      {faults.length > 0 && (
        <Notice kind="watch">
          <p>
            <strong>
              {tool === null ? 'The file' : `The card of ${tool}`} can’t be imported yet.
            </strong>{' '}
            Correct what is listed, then check again.
          </p>
          <NoteList notes={faults} writeLabel={writeLabel} />
        </Notice>
      )}
      {spec !== null && parity === null && (
        <Notice>
          <p>
            <strong>The card can be imported. Nothing proves yet that it scores as {tool}.</strong>
          </p>
          <p>Choose a sample with the scores that {tool} gave, then check again.</p>
        </Notice>
      )}
      {parity && <CertificateView certificate={parity} />}
      {result.finding && <p>{result.finding}.</p>}
      {differences.length > 0 && <Differences differences={differences} />}
      {registered !== null && <Registered result={registered} />}
      {registered === null && isFit && register !== null && (
        <Register unreached={parity?.bins_unreached ?? 0} register={register} />
      )}
      <Notes
        title="Differences between the specification and the file"
        notes={conversions}
        writeLabel={writeLabel}
      />
      {registered === null && (
        <Notes title="Worth a look" notes={gatherNotes(result.spec_warnings ?? [], spec)} />
      )}
      {spec !== null && (
        <details>
          <summary>The scorecard: {counted(spec.features.length, 'feature')}</summary>
          <Card spec={spec} />
        </details>
      )}
    </section>
  )
}

function Notes({ title, ...list }: Parameters<typeof NoteList>[0] & { title: string }) {
  if (list.notes.length === 0) return null
  return (
    <details>
      <summary>
        {title}: {whole(list.notes.length)}
      </summary>
      <NoteList {...list} />
    </details>
  )
}

/** The first rows that differ, with the features that cause the difference. */
function Differences({ differences }: { differences: Result['differences'] }) {
  return (
    <>
      <h3>The first rows that differ</h3>
      <PlainTable
        caption="Rows that differ"
        head={['Row', 'Tool', 'Engine', 'Difference', 'PD, tool', 'PD, engine', 'By feature']}
        figures={[1, 2, 3, 4, 5]}
        rows={differences.map((one) => [
          one.id === null ? one.path : `${one.path} (${one.id})`,
          one.expected_score,
          one.actual_score,
          signed(one.actual_score - one.expected_score),
          percent(one.expected_pd),
          percent(one.actual_pd),
          <ul key="features">
            {one.features.map(({ feature, bin, expected_points: tool, actual_points: here }) => (
              <li key={feature}>
                {feature} in {bin ?? 'no bin'}:{' '}
                {tool === null ? number(here) : `${number(tool)} in the tool, ${number(here)} here`}
              </li>
            ))}
          </ul>,
        ])}
      />
    </>
  )
}

function Register(props: {
  unreached: number
  register: (target: Schemas['ImportRegistration']) => Promise<void>
}) {
  const { unreached, register } = props
  const { fields, bind } = useFields({ environment: 'staging', description: '' })
  const [doesDeploy, setDeploy] = useState(false)
  const [isAccepted, setAccepted] = useState(false)
  const send = () =>
    register({
      environment: fields.environment as Environment,
      auto_deploy: doesDeploy,
      ...(fields.description !== '' && { description: fields.description }),
      ...(isAccepted && { accept_unreached: true }),
    })
  return (
    <Form send={send} submit="Register" busy="Registering …">
      <h3>Register it</h3>
      <div className="fields">
        <NativeSelect label="Environment" data={ENVIRONMENTS} {...bind('environment')} />
        <TextInput label="Description (optional)" maxLength={10_000} {...bind('description')} />
      </div>
      <Box
        label="Deploy it: it becomes the champion of a new deployment."
        isTicked={doesDeploy}
        tick={setDeploy}
      />
      {unreached > 0 && (
        <Box
          label={`Accept that no applicant of the sample proves the points of ${counted(unreached, 'bin')}.`}
          isTicked={isAccepted}
          tick={setAccepted}
        />
      )}
    </Form>
  )
}
