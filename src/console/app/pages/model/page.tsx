import { Button } from '@mantine/core'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { api, readData } from '../../api/client.ts'
import { useModel } from '../../api/deployments.ts'
import { useUser } from '../../api/state.ts'
import type { Schemas } from '../../api/types.ts'
import { Dialog, Form, FormDialog } from '../../ui/dialog.tsx'
import { Facts, When } from '../../ui/facts.tsx'
import { Box, Download } from '../../ui/fields.tsx'
import { number } from '../../ui/figures.ts'
import { withVersion } from '../../ui/names.ts'
import { Badge, Page, Panel } from '../../ui/page.tsx'
import { CertificateView } from '../../ui/parity/certificate.tsx'
import { Loaded } from '../../ui/states.tsx'
import { AuditTrail } from '../audit/trail.tsx'
import { Registered } from '../upload/registered.tsx'
import { Card, Grades } from './card.tsx'
import { ReasonCodes } from './reasons.tsx'

type Model = Schemas['Model']

export default function ModelPage() {
  const { id = '' } = useParams({ strict: false }) as { id?: string }
  const { mayAudit, mayManage, mayDeploy } = useUser()
  const loaded = useModel(id)
  const [dialog, setDialog] = useState<'status' | 'copy' | null>(null)
  const model = loaded.data
  const close = () => setDialog(null)
  const actions = model && (
    <>
      <Download path={`/v1/models/${id}/export?format=spec`} name={`${id}.json`}>
        Specification
      </Download>
      {mayDeploy && (
        <Button size="compact-sm" variant="default" onClick={() => setDialog('copy')}>
          Copy to {model.environment === 'staging' ? 'production' : 'staging'}
        </Button>
      )}
      {mayManage && (
        <Button size="compact-sm" variant="default" onClick={() => setDialog('status')}>
          {model.status === 'active' ? 'Archive' : 'Restore'}
        </Button>
      )}
    </>
  )
  return (
    <Page
      title={model === undefined ? 'Model' : withVersion(model.name, model.version)}
      subject="Model"
      environment={model?.environment}
      facts={model === undefined ? [] : [`Predicts ${model.spec.target}`]}
      actions={actions}
    >
      <Loaded of={loaded}>
        {(found) => (
          <>
            <About model={found} />
            {found.parity && (
              <Panel title="Parity with the tool">
                <CertificateView certificate={found.parity} />
              </Panel>
            )}
            <Grades spec={found.spec} />
            <Card spec={found.spec} />
            <ReasonCodes spec={found.spec} />
            {mayAudit && <AuditTrail subject={id} />}
            {dialog === 'status' && <StatusDialog model={found} onClose={close} />}
            {dialog === 'copy' && <CopyDialog model={found} onClose={close} />}
          </>
        )}
      </Loaded>
    </Page>
  )
}

function About({ model }: { model: Model }) {
  const { spec, status, description, created_at: at, spec_sha256: hash } = model
  return (
    <Panel>
      <Facts
        facts={[
          [
            'Status',
            <Badge key="status" kind={status === 'active' ? 'good' : ''}>
              {status}
            </Badge>,
          ],
          ['Base points', number(spec.base_points)],
          ['Scale', scaleText(spec)],
          ['Registered', <When key="at" at={at} />],
          !!description && ['Description', <bdi key="text">{description}</bdi>],
          ['SHA-256', <code key="hash">{hash}</code>],
        ]}
      />
    </Panel>
  )
}

function scaleText({ scaling }: Model['spec']): string {
  if (scaling === undefined) return 'unknown: scores have no probability of default'
  const { base_score: baseScore, base_odds: baseOdds, pdo } = scaling
  return `${number(baseOdds)}:1 good to bad at ${number(baseScore)}; ${number(pdo)} points double the odds`
}

interface DialogProps {
  readonly model: Schemas['Model']
  readonly onClose: () => void
}

const CHANGES = ['/v1/models', '/v1/models/{id}', '/v1/overview', '/v1/audit-log']

function StatusDialog({ model, onClose }: DialogProps) {
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
function CopyDialog({ model, onClose }: DialogProps) {
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
