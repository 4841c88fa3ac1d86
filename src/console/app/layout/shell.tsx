import { type MantineColorScheme, NativeSelect, useMantineColorScheme } from '@mantine/core'
import { Link, Outlet, useRouterState } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { useOverview } from '../api/reports.ts'
import { audits, deploys, ROLE_NAMES } from '../api/roles.ts'
import { signOut } from '../api/session.ts'
import { useFailingSince, useUser } from '../api/state.ts'
import type { Role } from '../api/types.ts'
import { clock } from '../ui/dates.ts'
import { Act, listChoices, typed } from '../ui/fields.tsx'
import { Light } from '../ui/light.tsx'

/** Draws the frame of each page: navigation, the account, and whether the service answers. */
export function Shell() {
  const [isOpen, setOpen] = useState(false)
  const path = useRouterState({ select: ({ location }) => location.pathname })
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page closes the menu
  useEffect(() => setOpen(false), [path])
  const skip = () => document.querySelector<HTMLElement>('main h1')?.focus()
  return (
    <div className="shell">
      <button type="button" className="skip" onClick={skip}>
        Skip to the content
      </button>
      <header className="side">
        <div className="side-head">
          <Link to="/" className="brand">
            Scoreline
          </Link>
          <button
            type="button"
            className="menu-button"
            aria-expanded={isOpen}
            aria-controls="menu"
            onClick={() => setOpen(!isOpen)}
          >
            Menu
          </button>
        </div>
        <div id="menu" className={isOpen ? 'menu open' : 'menu'}>
          <Navigation />
          <Account />
        </div>
      </header>
      <main id="content">
        <Reach />
        <Outlet />
      </main>
    </div>
  )
}

function Navigation() {
  const { role } = useUser()
  const overview = useOverview()
  const worst = overview.data?.pages[0]?.deployments[0]
  return (
    <nav aria-label="Console">
      {PLACES.map(({ group, places }) => {
        const shown = places.filter(({ isFor }) => isFor(role))
        return (
          shown.length > 0 && (
            <div key={group}>
              <p className="nav-group">{group}</p>
              <ul>
                {shown.map(({ to, name }) => (
                  <li key={to}>
                    <Link to={to} activeOptions={{ exact: to === '/', includeSearch: false }}>
                      {name}
                    </Link>
                    {to === '/' && worst?.attention === 'act' && (
                      <Light kind="act" isShort>
                        A deployment needs action
                      </Light>
                    )}
                  </li>
                ))}
              </ul>
            </div>
          )
        )
      })}
    </nav>
  )
}

function Account() {
  const { role } = useUser()
  return (
    <div className="gapped">
      <Link to={'/account' as string} className="account">
        Your account <span className="muted">{ROLE_NAMES[role]}</span>
      </Link>
      <ThemeSwitch />
      <Act size="xs" act={signOut}>
        Sign out
      </Act>
    </div>
  )
}

/** Says that the service does not answer, and of when the figures are. */
function Reach() {
  const since = useFailingSince()
  if (since === null) return null
  return (
    <p className="reach" role="alert">
      The service does not answer since {clock(since)}. What is shown is from before; the page tries
      again itself.
    </p>
  )
}

const THEMES = listChoices({ auto: 'Theme of the system', light: 'Light', dark: 'Dark' })

function ThemeSwitch() {
  // Without transitions it would add a style, which the policy of the page forbids.
  const { colorScheme, setColorScheme } = useMantineColorScheme({ keepTransitions: true })
  return (
    <NativeSelect
      size="xs"
      aria-label="Theme"
      data={THEMES}
      {...typed(colorScheme, (chosen) => setColorScheme(chosen as MantineColorScheme))}
    />
  )
}

interface Place {
  readonly to: string
  readonly name: string
  readonly isFor: (role: Role) => boolean
}

const anyone = () => true

/** The navigation: groups of pages, each for roles that may read it. */
const PLACES: readonly { readonly group: string; readonly places: readonly Place[] }[] = [
  {
    group: 'Portfolio',
    places: [
      { to: '/', name: 'Overview', isFor: anyone },
      { to: '/models', name: 'Models', isFor: anyone },
    ],
  },
  {
    group: 'Decisions',
    places: [
      { to: '/scores', name: 'Scores', isFor: anyone },
      { to: '/batches', name: 'Batches', isFor: (role) => deploys(role) || audits(role) },
      { to: '/outcomes', name: 'Outcomes', isFor: anyone },
      { to: '/try', name: 'Try it', isFor: anyone },
    ],
  },
  {
    group: 'Assurance',
    places: [
      { to: '/audit', name: 'Audit log', isFor: audits },
      { to: '/access-review', name: 'Access review', isFor: audits },
      { to: '/proofs', name: 'Log and proofs', isFor: audits },
    ],
  },
  {
    group: 'Settings',
    places: [
      { to: '/keys', name: 'Keys', isFor: anyone },
      { to: '/service-accounts', name: 'Service accounts', isFor: audits },
      { to: '/members', name: 'Members', isFor: audits },
      { to: '/webhooks', name: 'Webhooks', isFor: audits },
    ],
  },
]
