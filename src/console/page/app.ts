import { html } from 'htm/preact'
import { useEffect, useState } from 'preact/hooks'
import { AccountPage } from './account.ts'
import { resume, type Session, signOut } from './api.ts'
import { AuditLogPage } from './audit.ts'
import { BacktestPage } from './backtest.ts'
import { BatchesPage } from './batches.ts'
import { CutoffsPage } from './cutoffs.ts'
import { DeploymentPage } from './deployment.ts'
import { DeploymentsPage } from './deployments.ts'
import { deploys, manages, ROLE_NAMES } from './format.ts'
import { ImportPage } from './import.ts'
import { KeysPage } from './keys.ts'
import { askOtherTabs } from './leaving.ts'
import { MembersPage } from './members.ts'
import { ModelPage } from './model.ts'
import { ModelsPage } from './models.ts'
import { PerformancePage } from './performance.ts'
import { ReasonsPage } from './reasons.ts'
import { ScorePage } from './score.ts'
import { ScoresPage } from './scores.ts'
import { ServiceAccountsPage } from './service-accounts.ts'
import { SignIn, SignOnRefused } from './sign-in.ts'
import { StabilityPage } from './stability.ts'
import { asApiError, go, useAction, useRoute, useSession } from './state.ts'
import { SwapSetPage } from './swap-set.ts'
import { ThemeToggle } from './theme-toggle.ts'
import { forgetTrialKey } from './trial-key.ts'
import { TryPage } from './try.ts'
import { Empty, Failure, Loading, Page } from './ui.ts'
import { UploadPage } from './upload.ts'
import { VersionsPage } from './versions.ts'
import { WebhookPage } from './webhook.ts'
import { WebhooksPage } from './webhooks.ts'

/** The whole console. Users who are not signed in see only the sign-in page. */
export function App() {
  const session = useSession()
  const [start, setStart] = useState<'resuming' | 'done' | Error>('resuming')
  const begin = () => {
    setStart('resuming')
    resume().then(
      () => setStart('done'),
      (error: Error) => setStart(error),
    )
  }
  useEffect(begin, [])
  if (session !== null) {
    return html`<${Shell} key=${session.userId} session=${session} onUnfinished=${begin} />`
  }
  if (start === 'resuming') return html`<main><${Loading} text="Signing in …" /></main>`
  if (start !== 'done') {
    return html`<main><${Failure} error=${asApiError(start)} retry=${begin} /></main>`
  }
  return html`<${SignIn} />`
}

const PLACES = [
  { route: 'deployments', name: 'Deployments', isFor: () => true },
  { route: 'models', name: 'Models', isFor: () => true },
  { route: 'scores', name: 'Scores', isFor: () => true },
  { route: 'batches', name: 'Batches', isFor: deploys },
  { route: 'try', name: 'Try it', isFor: () => true },
  { route: 'keys', name: 'Keys', isFor: () => true },
  { route: 'members', name: 'Members', isFor: manages },
  { route: 'service-accounts', name: 'Service accounts', isFor: manages },
  { route: 'webhooks', name: 'Webhooks', isFor: manages },
  { route: 'audit', name: 'Audit log', isFor: manages },
] as const

function Shell({ session, onUnfinished }: { session: Session; onUnfinished: () => void }) {
  const [place = 'deployments', ...rest] = useRoute()
  const leaving = useAction()
  const leave = () =>
    leaving.run(async () => {
      // Revokes the key while the user is still signed in; a failure does not stop the sign-out.
      await forgetTrialKey().catch(() => {})
      await askOtherTabs()
      if (!(await signOut())) onUnfinished()
      go('deployments')
    })
  const skip = (event: Event) => {
    event.preventDefault()
    document.querySelector<HTMLElement>('main h1')?.focus()
  }
  return html`
    <a class="skip" href="#content" onClick=${skip}>Skip to the content</a>
    <header class="bar">
      <a class="brand" href="#/deployments">Scoreline</a>
      <nav aria-label="Console">
        <ul>
          ${PLACES.filter(({ isFor }) => isFor(session.role)).map(
            ({ route, name }) =>
              html`<li><a href=${`#/${route}`} aria-current=${route === place ? 'page' : undefined}>${name}</a></li>`,
          )}
        </ul>
      </nav>
      <div class="bar-end">
        <${ThemeToggle} />
        <a class="badge" href="#/account" title="Your account" aria-label=${`${ROLE_NAMES[session.role]}: your account`} aria-current=${place === 'account' ? 'page' : undefined}>${ROLE_NAMES[session.role]}</a>
        <button type="button" onClick=${leave} aria-disabled=${leaving.isBusy}>Sign out</button>
      </div>
    </header>
    <main id="content">
      ${leaving.error && html`<${Failure} error=${leaving.error} />`}
      <${Place} key=${[place, ...rest].join('/')} place=${place} rest=${rest} session=${session} />
    </main>
  `
}

function Place({ place, rest, session }: { place: string; rest: string[]; session: Session }) {
  const [id] = rest
  if (place === 'deployments') {
    if (id === undefined) return html`<${DeploymentsPage} session=${session} />`
    const [, report, part] = rest
    if (report === 'stability') return html`<${StabilityPage} slug=${id} start=${part} />`
    if (report === 'cutoffs') return html`<${CutoffsPage} slug=${id} />`
    if (report === 'versions') return html`<${VersionsPage} slug=${id} />`
    if (report === 'swap-set') return html`<${SwapSetPage} slug=${id} />`
    if (report === 'reasons') return html`<${ReasonsPage} slug=${id} session=${session} />`
    return html`<${DeploymentPage} slug=${id} session=${session} />`
  }
  if (place === 'performance' && id !== undefined) {
    return html`<${PerformancePage} slug=${id} definition=${rest[1] ?? null} session=${session} />`
  }
  if (place === 'models') {
    if (id === undefined) return html`<${ModelsPage} session=${session} />`
    if (id === 'new') return html`<${UploadPage} session=${session} />`
    if (id === 'backtest') return html`<${BacktestPage} session=${session} />`
    if (id === 'import') return html`<${ImportPage} session=${session} />`
    return html`<${ModelPage} id=${id} session=${session} />`
  }
  if (place === 'scores') {
    const [, second = ''] = rest
    if (id === undefined || id === 'find') {
      return html`<${ScoresPage} reference=${id === undefined ? null : decoded(second)} />`
    }
    return html`<${ScorePage} requestId=${id} record=${Number(second) || 0} />`
  }
  if (place === 'batches') return html`<${BatchesPage} session=${session} />`
  if (place === 'try') return html`<${TryPage} slug=${id ?? null} session=${session} />`
  if (place === 'keys') return html`<${KeysPage} session=${session} />`
  if (place === 'members' && manages(session.role))
    return html`<${MembersPage} session=${session} />`
  if (place === 'webhooks' && manages(session.role)) {
    return id === undefined ? html`<${WebhooksPage} />` : html`<${WebhookPage} id=${id} />`
  }
  if (place === 'account') return html`<${AccountPage} />`
  if (place === 'service-accounts' && manages(session.role)) {
    return html`<${ServiceAccountsPage} session=${session} />`
  }
  if (place === 'sign-in') {
    return html`<${Page} title="Sign-in refused"><${SignOnRefused} fault=${id ?? ''} /><//>`
  }
  if (place === 'audit' && manages(session.role)) {
    return html`<${AuditLogPage} subject=${id ?? null} />`
  }
  return html`<${Page} title="No such page">
    <${Empty} title="There is nothing here">
      <p>The address may be out of date, or your role lacks access. <a href="#/deployments">Go to the deployments</a></p>
    <//>
  <//>`
}

/** The text of a part of the address. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
