import { useState } from 'react'
import { api, readData } from '../../api/client.ts'
import type { Schemas } from '../../api/types.ts'
import { Dialog, Form, FormDialog } from '../../ui/dialog.tsx'
import { Box } from '../../ui/fields.tsx'
import { withVersion } from '../../ui/names.ts'
import { Registered } from '../upload/registered.tsx'

interface DialogProps {
  readonly model: Schemas['Model']
  readonly onClose: () => void
}

const CHANGES = ['/v1/models', '/v1/models/{id}', '/v1/overview', '/v1/audit-log']

export function StatusDialog({ model, onClose }: DialogProps) {
  const { id, name, version, status } = model
  const isActive = status === 'active'
  const verb = isActive ? 'Archive' : 'Restore'
  return (
    <FormDialog
      title={`${verb} ${withVersion(name, version)}`}
      send={() =>
        api.PATCH('/v1/models/{id}', {
          params: { path: { id } },
          body: { status: isActive ? 'archived' : 'active' },
        })
      }
      submit={verb}
      isDanger={isActive}
      changes={CHANGES}
      onClose={onClose}
    >
      <p>
        {isActive
          ? 'An archived model can’t become a challenger. Where it is a challenger now, it ends at once. A champion can’t be archived.'
          : 'An active model can become a challenger again. It gets no traffic until then.'}
      </p>
    </FormDialog>
  )
}

/** Registers the same specification in the other environment, without uploading it again. */
export function CopyDialog({ model, onClose }: DialogProps) {
  const [doesDeploy, setDeploy] = useState(false)
  const [made, setMade] = useState<Schemas['DeployResult'] | null>(null)
  const environment = model.environment === 'staging' ? 'production' : 'staging'
  const send = async () => {
    const params = { path: { id: model.id } }
    const body = { environment, auto_deploy: doesDeploy } as const
    setMade(await readData(api.POST('/v1/models/{id}/copies', { params, body })))
  }
  return (
    <Dialog
      title={`Copy ${withVersion(model.name, model.version)} to ${environment}`}
      onClose={onClose}
    >
      {made === null ? (
        <Form send={send} submit="Copy" busy="Copying …" changes={CHANGES} onCancel={onClose}>
          <p>The same specification, to the byte, is registered in {environment}.</p>
          <Box
            label="Deploy it: it becomes the champion of a new deployment."
            isTicked={doesDeploy}
            tick={setDeploy}
          />
        </Form>
      ) : (
        <Registered result={made} leave={onClose} />
      )}
    </Dialog>
  )
}
