import { useState } from 'react'
import { useAnswer } from '../../api/client.ts'
import { useMemberNames } from '../../api/names.ts'
import type { Schemas } from '../../api/types.ts'
import { When } from '../../ui/facts.tsx'
import { counted } from '../../ui/figures.ts'
import { Badge, Panel } from '../../ui/page.tsx'
import { Failure } from '../../ui/states.tsx'
import { actions, type Columns, DataTable } from '../../ui/table.tsx'
import { ApprovalDialog, Changes, changeTitle } from './approval-dialog.tsx'
import { useAbout } from './frame.tsx'

type ChangeRequest = Schemas['ChangeRequest']

const REFRESH_MS = 15_000

/** Changes of a deployment that wait for a second person; nothing if none does. */
export function WaitingChanges() {
  const { id } = useAbout().deployment
  const [shown, setShown] = useState<ChangeRequest | null>(null)
  const memberName = useMemberNames()
  const query = { state: 'waiting', deployment: id } as const
  const waiting = useAnswer('/v1/change-requests', { query }, { refetchInterval: REFRESH_MS })
  const columns: Columns<ChangeRequest> = [
    { head: 'Change', cell: changeTitle },
    { head: 'What will change', cell: (request) => <Changes request={request} /> },
    { head: 'Asked by', cell: ({ requested_by }) => memberName(requested_by) },
    { head: 'Waits until', cell: ({ expires_at }) => <When at={expires_at} /> },
    actions('Decision', (request) => [
      ['Look at it', `Look at it: ${changeTitle(request)}`, () => setShown(request)],
    ]),
  ]
  const rows = waiting.data?.change_requests ?? []
  return (
    <>
      {waiting.error && <Failure error={waiting.error} retry={() => void waiting.refetch()} />}
      {rows.length > 0 && (
        <Panel
          title="Waiting for approval"
          actions={<Badge kind="waiting">{counted(rows.length, 'change')}</Badge>}
        >
          <DataTable caption="Changes that wait for approval" rows={rows} columns={columns} />
        </Panel>
      )}
      {shown && <ApprovalDialog request={shown} onClose={() => setShown(null)} />}
    </>
  )
}
