import { Link, Outlet, useRouterState } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { useOverview } from '../api/overview.ts'
import { ROLE_NAMES } from '../api/roles.ts'
import { signOut } from '../api/session.ts'
import { useFailingSince, useUser } from '../api/state.ts'
import { clock } from '../ui/dates.ts'
import { Act } from '../ui/fields.tsx'
import { Light } from '../ui/light.tsx'
import { PLACES } from './places.ts'
import { ThemeSwitch } from './theme-switch.tsx'

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
