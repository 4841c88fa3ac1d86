import {
  createBrowserHistory,
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
} from '@tanstack/react-router'
import type { ComponentType } from 'react'
import { awaitService, isReached, ROOT } from './api/exchange.ts'
import { Shell } from './layout/shell.tsx'
import { NotFound, Unreached } from './layout/unreached.tsx'
import { parseSearch, type Search, stringifySearch } from './ui/address.ts'
import { Failure } from './ui/states.tsx'

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound })

type LoadPage = () => Promise<{ default: ComponentType }>

/** A page; its code comes when it is opened. */
function page<const Path extends string>(path: Path, load: LoadPage) {
  return createRoute({
    getParentRoute: () => root,
    path,
    component: lazyRouteComponent(() => loadPage(load)),
    validateSearch: (search: Search) => search,
  })
}

/**
 * Loads the code of a page. The router reloads the console when code is missing, because there is a
 * newer version then; while the service does not answer, that would lose the console.
 */
async function loadPage(load: LoadPage): ReturnType<LoadPage> {
  try {
    return await awaitService(load())
  } catch (error) {
    if (await isReached()) throw error
    return { default: Unreached }
  }
}

const routeTree = root.addChildren([
  page('/', () => import('./pages/overview/page.tsx')),
  page('/deployments/$slug', () => import('./pages/deployment/page.tsx')),
  page('/deployments/$slug/stability', () => import('./pages/stability/page.tsx')),
  page('/deployments/$slug/challengers', () => import('./pages/challengers/page.tsx')),
  page('/deployments/$slug/cutoffs', () => import('./pages/cutoffs/page.tsx')),
  page('/deployments/$slug/performance', () => import('./pages/performance/page.tsx')),
  page('/deployments/$slug/reports/$month', () => import('./pages/report/page.tsx')),
  page('/deployments/$slug/versions', () => import('./pages/versions/page.tsx')),
  page('/deployments/$slug/reasons', () => import('./pages/reasons/page.tsx')),
  page('/deployments/$slug/try', () => import('./pages/trial/page.tsx')),
  page('/try', () => import('./pages/trial/choice.tsx')),
  page('/deployments/$slug/activity', () => import('./pages/deployment/activity-page.tsx')),
  page('/deployments/$slug/changes', () => import('./pages/deployment/changes-page.tsx')),
  page('/models', () => import('./pages/models/page.tsx')),
  page('/models/$id', () => import('./pages/model/page.tsx')),
  page('/models/new', () => import('./pages/upload/page.tsx')),
  page('/models/import', () => import('./pages/import/page.tsx')),
  page('/models/backtest', () => import('./pages/backtest/page.tsx')),
  page('/scores', () => import('./pages/scores/page.tsx')),
  page('/scores/find/$text', () => import('./pages/scores/page.tsx')),
  page('/scores/$requestId', () => import('./pages/dossier/page.tsx')),
  page('/scores/$requestId/$record', () => import('./pages/dossier/page.tsx')),
  page('/batches', () => import('./pages/batches/page.tsx')),
  page('/outcomes', () => import('./pages/outcomes/page.tsx')),
  page('/access-review', () => import('./pages/access-review/page.tsx')),
  page('/proofs', () => import('./pages/proofs/page.tsx')),
  page('/audit', () => import('./pages/audit/page.tsx')),
  page('/audit/$subject', () => import('./pages/audit/page.tsx')),
  page('/keys', () => import('./pages/keys/page.tsx')),
  page('/service-accounts', () => import('./pages/service-accounts/page.tsx')),
  page('/members', () => import('./pages/members/page.tsx')),
  page('/webhooks', () => import('./pages/webhooks/page.tsx')),
  page('/webhooks/$id', () => import('./pages/webhook/page.tsx')),
  page('/account', () => import('./pages/account/page.tsx')),
  page('/sign-in', () => import('./pages/sign-in/refused.tsx')),
])

export const router = createRouter({
  routeTree,
  basepath: `${new URL(ROOT).pathname}console`,
  history: createBrowserHistory(),
  parseSearch,
  stringifySearch,
  scrollRestoration: true,
  defaultPreload: 'intent',
  defaultErrorComponent: ({ error }) => <Failure error={error} retry={() => location.reload()} />,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
