import { NativeSelect, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useDeployed } from '../../api/deployed.ts'
import { post } from '../../api/send.ts'
import { DeploymentSelect } from '../../ui/deployment-select.tsx'
import { Form } from '../../ui/dialog.tsx'
import { Box, FileField, listChoices, useFields } from '../../ui/fields.tsx'
import { Panel } from '../../ui/page.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'

const TYPES: Readonly<Record<string, string>> = {
  csv: 'text/csv',
  ndjson: 'application/x-ndjson',
  jsonl: 'application/x-ndjson',
  parquet: 'application/vnd.apache.parquet',
}
const RESULTS = listChoices({ csv: 'CSV', ndjson: 'NDJSON', parquet: 'Parquet' })

/** Sends a file of applicants to be scored. The deployment is chosen by hand, never preselected. */
export function UploadPanel() {
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
