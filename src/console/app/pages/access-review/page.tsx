import { useQuery } from '@tanstack/react-query'
import { read } from '../../api/client.ts'
import { ROLE_NAMES } from '../../api/roles.ts'
import { useUser } from '../../api/state.ts'
import type { Environment } from '../../api/types.ts'
import { useAddress } from '../../ui/address.ts'
import { DAY_MS, localDay } from '../../ui/dates.ts'
import { When } from '../../ui/facts.tsx'
import { Download } from '../../ui/fields.tsx'
import { counted, whole } from '../../ui/figures.ts'
import { Light } from '../../ui/light.tsx'
import { EnvironmentBadge, NameLink, Page, Refused } from '../../ui/page.tsx'
import type { Credential } from '../../ui/secret.tsx'
import { Loaded } from '../../ui/states.tsx'
import { type Columns, DataTable } from '../../ui/table.tsx'

interface Access {
  readonly id: string
  readonly kind: 'Member' | 'Service account' | 'Key'
  readonly name: string
  readonly may: string
  readonly environment: Environment | null | undefined
  readonly since: string
  readonly ends: string | null
  readonly lastUsed: string | null
  readonly page: string
}

/** After how many days without use access is worth a question. */
const IDLE_DAYS = 90

const COLUMNS: Columns<Access> = [
  {
    head: 'Who',
    cell: ({ name, page }) => <NameLink to={page} name={name} />,
    value: ({ name }) => name.toLowerCase(),
    text: ({ name, kind, may }) => `${name} ${kind} ${may}`,
  },
  { head: 'Kind', value: ({ kind }) => kind },
  { head: 'May', value: ({ may }) => may },
  {
    head: 'Environment',
    cell: ({ environment }) =>
      environment === undefined ? (
        <span className="muted">all</span>
      ) : (
        <EnvironmentBadge name={environment} />
      ),
  },
  { head: 'Since', when: ({ since }) => since },
  { head: 'Ends', when: ({ ends }) => ends },
  {
    // Of a member only the sign-in is known; a session may be used for days after it.
    head: 'Last used, or signed in',
    cell: (one) => (
      <div className="names">
        <When at={one.lastUsed} />
        {isIdle(one) && <Light kind="watch">not for {IDLE_DAYS} days</Light>}
      </div>
    ),
    value: ({ lastUsed }) => lastUsed ?? '',
  },
]

function isIdle({ lastUsed, since }: Access): boolean {
  return Date.parse(lastUsed ?? since) < Date.now() - IDLE_DAYS * DAY_MS
}

export default function AccessReviewPage() {
  const { mayAudit } = useUser()
  const [{ idle = '' }, change] = useAddress()
  const asked = useQuery({
    queryKey: ['/v1', 'access'],
    queryFn: ({ signal }) => readAccess(signal),
    enabled: mayAudit,
  })
  if (!mayAudit) {
    const title = 'Your role can’t see who has access'
    return <Refused page="Access review" title={title} hint="An owner, admin or auditor can." />
  }
  return (
    <Page
      title="Access review"
      facts={[`As of ${localDay(Date.now())}`]}
      actions={
        <Download path="/v1/access-review" name="access-review.csv">
          Access review as CSV
        </Download>
      }
    >
      <p className="lead">
        Everybody and everything that can read or change something here. What is not needed any
        more: remove it.
      </p>
      <Loaded of={asked}>
        {(found) => {
          const unused = found.filter(isIdle)
          return (
            <>
              <ul className="tiles">
                {(['Member', 'Service account', 'Key'] as const).map((kind) => {
                  const n = found.filter((one) => one.kind === kind).length
                  return (
                    <li key={kind} className="tile">
                      <strong>{whole(n)}</strong>
                      <span>{kind.toLowerCase() + (n === 1 ? '' : 's')}</span>
                    </li>
                  )
                })}
                <li>
                  <button
                    type="button"
                    className="tile"
                    aria-pressed={idle === 'yes'}
                    onClick={() => change({ idle: idle === 'yes' ? '' : 'yes' })}
                  >
                    <strong>{whole(unused.length)}</strong>
                    <Light kind={unused.length > 0 ? 'watch' : 'good'}>
                      no use or sign-in for {counted(IDLE_DAYS, 'day')}
                    </Light>
                  </button>
                </li>
              </ul>
              <DataTable
                caption="Access"
                rows={idle === 'yes' ? unused : found}
                columns={COLUMNS}
                search="Search"
              />
            </>
          )
        }}
      </Loaded>
    </Page>
  )
}

async function readAccess(signal: AbortSignal): Promise<readonly Access[]> {
  const [{ members }, { service_accounts: accounts }, { keys }] = await Promise.all([
    read('/v1/members', {}, signal),
    read('/v1/service-accounts', {}, signal),
    read('/v1/keys', {}, signal),
  ])
  return [
    ...members.map(({ id, email, role, created_at: since, last_sign_in_at: lastUsed }) => {
      const access = { id, name: email, may: ROLE_NAMES[role], since, ends: null, lastUsed }
      return { ...access, kind: 'Member', environment: undefined, page: '/members' } as const
    }),
    ...accounts.map(({ role, ...one }) => {
      const access = { ...readTimes(one), may: ROLE_NAMES[role], environment: undefined }
      return { ...access, kind: 'Service account', page: '/service-accounts' } as const
    }),
    ...keys.map(({ scopes, environment, ...one }) => {
      const access = { ...readTimes(one), may: scopes.join(', '), environment }
      return { ...access, kind: 'Key', page: '/keys' } as const
    }),
  ]
}

function readTimes(one: Credential) {
  const { id, name, created_at: since, expires_at: ends, last_used_at: lastUsed } = one
  return { id, name, since, ends, lastUsed }
}
