import { Button, Checkbox, NativeSelect, TextInput } from '@mantine/core'
import { useParams } from '@tanstack/react-router'
import { read } from '../../api/client.ts'
import { useNames } from '../../api/names.ts'
import { audits } from '../../api/roles.ts'
import { useUser } from '../../api/state.ts'
import { type Search, useAddress } from '../../ui/address.ts'
import { Download } from '../../ui/fields.tsx'
import { Page } from '../../ui/page.tsx'
import { Pages, usePages } from '../../ui/pages.tsx'
import { Empty } from '../../ui/states.tsx'
import { AuditRecords } from './trail.tsx'
import { GROUPS } from './words.ts'

const PATH = '/v1/audit-log'
const DAY_MS = 86_400_000

/** Shows who changed what and when, as sentences; the address keeps the filters. */
export default function AuditPage() {
  const { subject: inPath } = useParams({ strict: false }) as { subject?: string }
  const { role } = useUser()
  const [search, change] = useAddress()
  const filter = readFilter(search, inPath)
  const parameters = new URLSearchParams(filter).toString()
  const list = usePages([PATH, filter], (page, signal) =>
    read(PATH, { query: { ...filter, ...page } }, signal),
  )
  if (!audits(role)) {
    return (
      <Page title="Audit log">
        <Empty title="Your role can’t read the audit log">
          <p>An owner, admin or auditor can.</p>
        </Empty>
      </Page>
    )
  }
  const isFiltered = Object.keys(filter).some((name) => name !== 'kind')
  const actions = (
    <>
      <Download path={`${PATH}?${parameters}`} name="audit-log.csv" accept="text/csv">
        These records as CSV
      </Download>
      <Download path={`${PATH}/export`} name="audit-log.ndjson">
        Export as NDJSON
      </Download>
    </>
  )
  return (
    <Page title="Audit log" facts={['Times are those of this browser']} actions={actions}>
      <Filters search={search} subject={filter.subject} />
      {isFiltered && (
        <p className="filters">
          <Button
            size="compact-sm"
            variant="default"
            onClick={() =>
              change({
                subject: undefined,
                actor: undefined,
                action: undefined,
                from: undefined,
                to: undefined,
              })
            }
          >
            Show all records
          </Button>
        </p>
      )}
      <Pages of={list} rows={({ records }) => records}>
        {(records) =>
          records.length === 0 ? (
            <Empty title={isFiltered ? 'No record matches' : 'There are no changes yet'}>
              <p>
                {isFiltered
                  ? 'Choose a longer period, or another person or action.'
                  : 'Every change to models, deployments, keys and members stands here.'}
              </p>
            </Empty>
          ) : (
            <AuditRecords records={records} />
          )
        }
      </Pages>
    </Page>
  )
}

interface Filter extends Record<string, string> {
  kind: 'changes' | 'all'
}

function readFilter(search: Search, inPath: string | undefined): Filter {
  const { actor, action, from, to, reads, subject = inPath } = search
  return {
    kind: reads === 'yes' ? 'all' : 'changes',
    ...(subject && { subject }),
    ...(actor && { actor }),
    ...(action && { action }),
    ...(from && { from: `${from}T00:00:00Z` }),
    ...(to && { to: new Date(Date.parse(`${to}T00:00:00Z`) + DAY_MS).toISOString() }),
  }
}

function Filters({ search, subject }: { search: Search; subject: string | undefined }) {
  const [, change] = useAddress()
  const names = [...useNames()]
  const { actor = '', action = '', from = '', to = '', reads = '' } = search
  const choose =
    (name: string) =>
    ({ currentTarget }: { currentTarget: { value: string } }) =>
      change({ [name]: currentTarget.value })
  const choices = (prefixes: RegExp, chosen: string) => [
    { value: '', label: 'All' },
    ...named(names, prefixes, chosen),
  ]
  return (
    <div className="filters">
      <NativeSelect
        label="Who"
        value={actor}
        data={choices(/^(usr|svc|key)_|^(operator|service|anonymous)$/, actor)}
        onChange={choose('actor')}
      />
      <NativeSelect
        label="What was done"
        value={action}
        data={[...GROUPS]}
        onChange={choose('action')}
      />
      <NativeSelect
        label="To which object"
        value={subject ?? ''}
        data={choices(/^(dep|mod|key|svc|usr|whk)_/, subject ?? '')}
        onChange={choose('subject')}
      />
      <TextInput type="date" label="First day (UTC)" value={from} onChange={choose('from')} />
      <TextInput type="date" label="Last day (UTC)" value={to} onChange={choose('to')} />
      <Checkbox
        label="Reads, too"
        checked={reads === 'yes'}
        onChange={({ currentTarget }) => change({ reads: currentTarget.checked ? 'yes' : '' })}
      />
    </div>
  )
}

/** Choices of a select; what the address names is among them in any case. */
function named(names: readonly (readonly [string, string])[], ids: RegExp, chosen: string) {
  const found = names.filter(([id]) => ids.test(id))
  const isKnown = chosen === '' || found.some(([id]) => id === chosen)
  return [...found, ...(isKnown ? [] : [[chosen, chosen] as const])].map(([value, label]) => ({
    value,
    label,
  }))
}
