import { useSlug } from '../../api/deployments.ts'
import { changeText, useHistory } from '../../api/reports.ts'
import { useUser } from '../../api/state.ts'
import type { Schemas } from '../../api/types.ts'
import { NONE } from '../../ui/figures.ts'
import { Panel } from '../../ui/page.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { type Columns, DataTable } from '../../ui/table.tsx'
import { AuditTrail } from '../audit/trail.tsx'
import { DeploymentPage } from './frame.tsx'
import { WaitingChanges } from './waiting-changes.tsx'

type Change = Schemas['HistoryChange']

const COLUMNS: Columns<Change> = [
  { head: 'When', when: ({ at }) => at },
  { head: 'Change', cell: changeText, text: changeText },
  { head: 'Champion then', cell: ({ champion_version }) => champion_version ?? NONE },
]

export default function ChangesPage() {
  const { mayAudit } = useUser()
  const slug = useSlug()
  return (
    <DeploymentPage title="Changes">
      <WaitingChanges />
      <Made />
      {mayAudit && <AuditTrail subject={slug} />}
    </DeploymentPage>
  )
}

function Made() {
  const history = useHistory(useSlug())
  return (
    <Panel title="History">
      <Loaded of={history} empty={<Empty title="No changes yet" />}>
        {(changes) => (
          <DataTable
            caption="Changes of the deployment"
            rows={changes.toReversed()}
            columns={COLUMNS}
            rowKey={({ at, kind }) => `${at} ${kind}`}
            search="Search"
          />
        )}
      </Loaded>
    </Panel>
  )
}
