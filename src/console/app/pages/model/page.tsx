import { Button } from '@mantine/core'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useModel } from '../../api/deployments.ts'
import { useUser } from '../../api/state.ts'
import type { Schemas } from '../../api/types.ts'
import { Facts, When } from '../../ui/facts.tsx'
import { Download } from '../../ui/fields.tsx'
import { number } from '../../ui/figures.ts'
import { withVersion } from '../../ui/names.ts'
import { Badge, Page, Panel } from '../../ui/page.tsx'
import { CertificateView } from '../../ui/parity/certificate.tsx'
import { Loaded } from '../../ui/states.tsx'
import { AuditTrail } from '../audit/trail.tsx'
import { Card, Grades } from './card.tsx'
import { CopyDialog, StatusDialog } from './dialogs.tsx'
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
