import { useState } from 'react'
import { useAnswer } from '../../api/client.ts'
import type { Deployment } from '../../api/deployments.ts'
import { useMemberNames } from '../../api/members.ts'
import type { Schemas } from '../../api/types.ts'
import { RowButton, When } from '../../ui/facts.tsx'
import { counted } from '../../ui/figures.ts'
import { Badge, Panel } from '../../ui/page.tsx'
import { Failure } from '../../ui/states.tsx'
import { type Column, DataTable } from '../../ui/table.tsx'
import { ApprovalDialog } from './approval-dialog.tsx'
import { Changes, changeTitle } from './request-changes.tsx'

type ChangeRequest = Schemas['ChangeRequest']

const REFRESH_MS = 15_000

/** Changes of a deployment that wait for a second person; nothing if none does. */
export function WaitingChanges({ deployment: { id } }: { deployment: Deployment }) {
  const [shown, setShown] = useState<ChangeRequest | null>(null)
  const memberName = useMemberNames()
  const query = { state: 'waiting', deployment: id } as const
  const waiting = useAnswer('/v1/change-requests', { query }, { refetchInterval: REFRESH_MS })
  const columns: Column<ChangeRequest>[] = [
    { head: 'Change', cell: changeTitle },
    { head: 'What will change', cell: (request) => <Changes request={request} /> },
    { head: 'Asked by', cell: ({ requested_by }) => memberName(requested_by) },
    { head: 'Waits until', cell: ({ expires_at }) => <When at={expires_at} /> },
    {
      head: 'Decision',
      cell: (request) => (
        <RowButton name={`Look at it: ${changeTitle(request)}`} onClick={() => setShown(request)}>
          Look at it
        </RowButton>
      ),
    },
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
          <DataTable
            caption="Changes that wait for approval"
            rows={rows}
            rowKey={({ id: request }) => request}
            columns={columns}
          />
        </Panel>
      )}
      {shown && <ApprovalDialog request={shown} onClose={() => setShown(null)} />}
    </>
  )
}
