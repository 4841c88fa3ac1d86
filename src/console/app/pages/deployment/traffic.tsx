import { Button } from '@mantine/core'
import { useState } from 'react'
import { championPct, type Deployment } from '../../api/deployments.ts'
import { ROOT } from '../../api/exchange.ts'
import { useUser } from '../../api/state.ts'
import { Copy, When } from '../../ui/facts.tsx'
import { number, pct } from '../../ui/figures.ts'
import { withVersion } from '../../ui/names.ts'
import { Badge, NameLink, Panel } from '../../ui/page.tsx'
import { actions, type Columns, DataTable } from '../../ui/table.tsx'
import { ChangeDialog } from './change-dialog.tsx'
import { useAbout } from './frame.tsx'
import type { Change } from './plan.ts'

interface Row {
  readonly id: string
  readonly name: string
  readonly isChampion: boolean
  readonly share: string
  readonly since: string | null
  readonly changes: readonly { readonly text: string; readonly change: Change }[]
}

/** The models of a deployment, and for roles that may make them, changes of who answers. */
export function Traffic() {
  const { deployment } = useAbout()
  const { mayManage } = useUser()
  const [asked, setAsked] = useState<Change | null>(null)
  const ask = mayManage ? setAsked : null
  const { shadow_mode: isShadow, strict_mode: isStrict, cutoff } = deployment
  const columns: Columns<Row> = [
    {
      head: 'Model',
      cell: ({ id, name, isChampion }) => (
        <>
          <NameLink to={`/models/${id}`} name={name} />{' '}
          <Badge kind={isChampion ? 'production' : ''}>
            {isChampion ? 'champion' : isShadow ? 'in shadow' : 'challenger'}
          </Badge>
        </>
      ),
    },
    { head: 'Answers', figure: ({ share }) => share },
    { head: 'Since', cell: ({ since }) => since && <When at={since} /> },
    actions(
      'Change',
      ask &&
        (({ name, changes }) =>
          changes.map(({ text, change }) => {
            const isDanger = change.kind === 'remove' || change.kind === 'rollback'
            return [text, `${text}: ${name}`, () => ask(change), isDanger && 'danger'] as const
          })),
    ),
  ]
  const endpoint = `${ROOT}v1/score/${deployment.slug}`
  return (
    <>
      <Panel
        title="Models and traffic"
        actions={
          <>
            <Badge>{isShadow ? 'shadow mode' : 'live split'}</Badge>
            {isStrict && <Badge>strict mode</Badge>}
            {deployment.require_approval && <Badge>needs approval</Badge>}
            <Badge>{cutoff === null ? 'no cut-off' : `cut-off ${number(cutoff)}`}</Badge>
          </>
        }
      >
        <DataTable
          caption="Models of this deployment"
          rows={makeRows(deployment)}
          columns={columns}
        />
        {ask !== null && (
          <div className="row-actions">
            <Button size="xs" onClick={() => ask({ kind: 'add' })}>
              Add a challenger
            </Button>
            {settings(deployment).map(([text, change]) => (
              <Button key={text} size="xs" variant="default" onClick={() => ask(change)}>
                {text}
              </Button>
            ))}
          </div>
        )}
        <p>
          <span className="muted">Scores at</span> <code>{endpoint}</code>{' '}
          <Copy text={endpoint} label="Copy the address" />
        </p>
      </Panel>
      {asked && (
        <ChangeDialog deployment={deployment} change={asked} onClose={() => setAsked(null)} />
      )}
    </>
  )
}

function makeRows(deployment: Deployment): readonly Row[] {
  const { champion_model: champion, previous_champion_model: previous, challengers } = deployment
  const isShadow = deployment.shadow_mode
  const back = { text: `Roll back to ${previous?.version}`, change: { kind: 'rollback' } } as const
  return [
    {
      id: champion.id,
      name: withVersion(champion.name, champion.version),
      isChampion: true,
      share: pct(championPct(deployment)),
      since: null,
      changes: previous === undefined ? [] : [back],
    },
    ...challengers.map((challenger) => ({
      id: challenger.model_id,
      name: withVersion(challenger.model_name, challenger.model_version),
      isChampion: false,
      share: isShadow
        ? `none (${pct(challenger.traffic_pct)} when live)`
        : pct(challenger.traffic_pct),
      since: challenger.added_at,
      changes: [
        { text: 'Promote', change: { kind: 'promote', challenger } },
        { text: 'Change share', change: { kind: 'share', challenger } },
        { text: 'Remove', change: { kind: 'remove', challenger } },
      ] as const,
    })),
  ]
}

function settings(deployment: Deployment): readonly (readonly [string, Change])[] {
  const { shadow_mode, strict_mode, require_approval, is_active } = deployment
  return [
    [shadow_mode ? 'Switch to a live split' : 'Switch shadow mode on', { kind: 'shadow' }],
    [strict_mode ? 'Make it lenient' : 'Make it strict', { kind: 'strict' }],
    [require_approval ? 'Stop requiring approval' : 'Require approval', { kind: 'approval' }],
    ['Set the cut-off', { kind: 'cutoff' }],
    [is_active ? 'Switch off' : 'Switch on', { kind: 'switch' }],
  ]
}
