import { NativeSelect, TextInput } from '@mantine/core'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import { modelChoice, useModels } from '../../api/deployments.ts'
import { isOpen, useJob } from '../../api/jobs.ts'
import { useDefinitions, usePerformance } from '../../api/reports.ts'
import { post } from '../../api/send.ts'
import { useUser } from '../../api/state.ts'
import type { Schemas } from '../../api/types.ts'
import { useAddress } from '../../ui/address.ts'
import { Form } from '../../ui/dialog.tsx'
import { Act, DeploymentSelect, FileField, useFields } from '../../ui/fields.tsx'
import { readNumber, whole } from '../../ui/figures.ts'
import { Page, Panel, Refused } from '../../ui/page.tsx'
import { Loaded, Loading, Notice } from '../../ui/states.tsx'
import { type BacktestResult, BacktestView } from './result.tsx'

const DAY_MS = 86_400_000
const DAYS = [
  { value: '7', label: 'Of the last 7 days' },
  { value: '30', label: 'Of the last 30 days' },
  { value: '90', label: 'Of the last 90 days' },
  { value: '0', label: 'All in the log' },
]

/** Tries a card on the logged scores of a deployment; a link shows a colleague the result. */
export default function BacktestPage() {
  const { mayModel } = useUser()
  const [{ job }] = useAddress()
  if (!mayModel) {
    const title = 'Your role can’t start a backtest'
    return (
      <Refused page="Backtest" subject="Models" title={title} hint="A modeler can.">
        {job && <Running id={job} mayCancel={false} />}
      </Refused>
    )
  }
  return (
    <Page title="Backtest" subject="Models">
      <p className="lead">
        What would another card have done with the applicants that a deployment scored? The log has
        their bins and not their values: where a bin of the card does not follow from them, the
        answer is a range.
      </p>
      <Start />
      {job && <Running id={job} mayCancel />}
    </Page>
  )
}

function Start() {
  const [, change] = useAddress()
  const models = useModels().data ?? []
  const definitions = useDefinitions().data ?? []
  const [file, setFile] = useState<File | null>(null)
  const { fields, bind } = useFields({
    model: '',
    deployment: '',
    days: '30',
    cutoff: '',
    definition: '',
  })
  const cutoff = fields.cutoff.trim() === '' ? null : readNumber(fields.cutoff)
  const start = async () => {
    const days = Number(fields.days)
    const { deployment, definition } = fields
    const from = days > 0 ? new Date(Date.now() - days * DAY_MS).toISOString() : undefined
    const rest = JSON.stringify({
      source: { deployment, from },
      ...(cutoff !== null && { cutoffs: [cutoff] }),
      ...(definition !== '' && { definition }),
    }).slice(1)
    const body =
      file === null
        ? `{"model_id":${JSON.stringify(fields.model)},${rest}`
        : `{"spec":${(await file.text()).replace(/^\uFEFF/, '')},${rest}`
    const { id } = await post<Schemas['Job']>('/v1/backtests', body)
    change({ job: id, deployment, definition, from })
  }
  return (
    <Panel>
      <Form
        send={start}
        submit="Backtest"
        busy="Starting …"
        missing={missingIn(fields, file, cutoff)}
      >
        <div className="fields">
          <NativeSelect
            label="Candidate"
            data={[{ value: '', label: 'A file' }, ...models.map(modelChoice)]}
            {...bind('model')}
          />
          {fields.model === '' && (
            <FileField
              label="Scorecard"
              description="The JSON file of the candidate; it is not registered"
              accept=".json,application/json"
              onChoose={setFile}
            />
          )}
          <DeploymentSelect none="Choose …" {...bind('deployment')} />
          <NativeSelect label="Applicants" data={DAYS} {...bind('days')} />
          <TextInput
            label="Cut-off (optional)"
            description="The score from which an applicant is approved"
            inputMode="decimal"
            {...bind('cutoff')}
          />
          {definitions.length > 0 && (
            <NativeSelect
              label="Against outcomes (optional)"
              description="How well the card would have separated good from bad"
              data={[
                { value: '', label: 'None' },
                ...definitions.map(({ id, label }) => ({ value: id, label: `${label} (${id})` })),
              ]}
              {...bind('definition')}
            />
          )}
        </div>
      </Form>
    </Panel>
  )
}

function missingIn(
  fields: { readonly model: string; readonly deployment: string; readonly cutoff: string },
  file: File | null,
  cutoff: number | null,
): string | null {
  if (fields.model === '' && file === null) return 'Choose a candidate.'
  if (fields.deployment === '') return 'Choose the deployment.'
  return fields.cutoff.trim() !== '' && cutoff === null ? 'The cut-off is not a number.' : null
}

function Running({ id, mayCancel }: { id: string; mayCancel: boolean }) {
  const job = useJob(id)
  const [{ deployment = '', definition, from }] = useAddress()
  const present = usePerformance(deployment, definition, from ? { from } : {}).data
  const cancel = () => api.POST('/v1/jobs/{id}/cancel', { params: { path: { id } } })
  return (
    <Loaded of={job}>
      {(found) => {
        const { status, progress, message, result } = found
        if (isOpen(found)) {
          const about = progress.total > 0 ? ` of about ${whole(progress.total)}` : ''
          return (
            <Panel>
              <Loading
                text={
                  status === 'queued'
                    ? 'Waiting for its turn …'
                    : `${whole(progress.done)}${about} applicants …`
                }
              />
              {mayCancel && (
                <Act act={cancel} changes={['/v1/jobs/{id}']}>
                  Cancel
                </Act>
              )}
            </Panel>
          )
        }
        if (status === 'done') {
          return <BacktestView result={result as BacktestResult} present={present} />
        }
        return (
          <Notice kind="watch">
            {status === 'failed' ? message : 'The backtest was cancelled.'}
          </Notice>
        )
      }}
    </Loaded>
  )
}
