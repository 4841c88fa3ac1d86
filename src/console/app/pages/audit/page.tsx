import { Button, NativeSelect } from '@mantine/core'
import { useParams } from '@tanstack/react-router'
import { read } from '../../api/client.ts'
import { useNames } from '../../api/names.ts'
import { useUser } from '../../api/state.ts'
import { type Search, useAddress } from '../../ui/address.ts'
import { Box, Download } from '../../ui/fields.tsx'
import { Page, Refused } from '../../ui/page.tsx'
import { Pages, usePages } from '../../ui/pages.tsx'
import { Days, readDays } from '../../ui/period.tsx'
import { Empty } from '../../ui/states.tsx'
import { AuditRecords } from './trail.tsx'
import { GROUPS } from './words.ts'

const PATH = '/v1/audit-log'

export default function AuditPage() {
  const { subject: inPath } = useParams({ strict: false }) as { subject?: string }
  const { mayAudit } = useUser()
  const [search, change] = useAddress()
  const filter = readFilter(search, inPath)
  const parameters = new URLSearchParams(filter).toString()
  const list = usePages([PATH, filter], (page, signal) =>
    read(PATH, { query: { ...filter, ...page } }, signal),
  )
  if (!mayAudit) {
    const title = 'Your role can’t read the audit log'
    return <Refused page="Audit log" title={title} hint="An owner, admin or auditor can." />
  }
  const isFiltered = Object.keys(filter).some((name) => name !== 'kind')
  const none = isFiltered ? (
    <Empty title="No record matches" hint="Choose a longer period, or another person or action." />
  ) : (
    <Empty
      title="There are no changes yet"
      hint="Every change to models, deployments, keys and members stands here."
    />
  )
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
            onClick={() => change({ subject: '', actor: '', action: '', from: '', to: '' })}
          >
            Show all records
          </Button>
        </p>
      )}
      <Pages of={list} rows={({ records }) => records} empty={none}>
        {(records) => <AuditRecords records={records} />}
      </Pages>
    </Page>
  )
}

interface Filter extends Record<string, string> {
  kind: 'changes' | 'all'
}

function readFilter(search: Search, inPath: string | undefined): Filter {
  const { actor, action, reads, subject = inPath } = search
  return {
    kind: reads === 'yes' ? 'all' : 'changes',
    ...(subject && { subject }),
    ...(actor && { actor }),
    ...(action && { action }),
    ...readDays(search),
  }
}

function Filters({ search, subject }: { search: Search; subject: string | undefined }) {
  const [, change, bind] = useAddress()
  const names = [...useNames()]
  const { actor = '', reads = '' } = search
  const choices = (prefixes: RegExp, chosen: string) => [
    { value: '', label: 'All' },
    ...named(names, prefixes, chosen),
  ]
  return (
    <div className="filters">
      <NativeSelect
        label="Who"
        data={choices(/^(usr|svc|key)_|^(operator|service|anonymous)$/, actor)}
        {...bind('actor')}
      />
      <NativeSelect label="What was done" data={[...GROUPS]} {...bind('action')} />
      <NativeSelect
        label="To which object"
        data={choices(/^(dep|mod|key|svc|usr|whk)_/, subject ?? '')}
        {...bind('subject', subject)}
      />
      <Days />
      <Box
        label="Reads, too"
        isTicked={reads === 'yes'}
        tick={(isTicked) => change({ reads: isTicked ? 'yes' : '' })}
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
