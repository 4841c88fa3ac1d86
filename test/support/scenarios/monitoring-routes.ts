import type { Route } from './routes.ts'

const READERS = 'member or read key'
const NO_CHALLENGER = '404 challenger_not_found'

/** As `ROUTES`, of what monitors models. */
export const MONITORING_ROUTES: Readonly<Record<string, Route>> = {
  'PUT /v1/models/:id/baseline': {
    operation: 'models.baseline',
    admitted: ['owner', 'admin', 'lead_modeler'],
    id: 'model',
    body: { counts: { features: { income: { bins: [1, 2, 3] } } } },
    naming: [{ period: { deployment: '<slug>' } }],
  },
  'GET /v1/deployments/:slug/stability': { operation: 'monitoring.stability', admitted: READERS },
  'GET /v1/deployments/:slug/stability/series': {
    operation: 'monitoring.series',
    admitted: READERS,
  },
  'GET /v1/overview': { operation: 'overview.get', admitted: READERS },
  'GET /v1/deployments/:slug/reports/:month': { operation: 'reports.month', admitted: READERS },
  'GET /v1/deployments/:slug/cutoffs': { operation: 'monitoring.cutoffs', admitted: READERS },
  'GET /v1/deployments/:slug/swap-set': {
    operation: 'monitoring.swap_set',
    admitted: READERS,
    query: 'cutoff=1&challenger_id=<challenger>',
    success: NO_CHALLENGER,
  },
  'GET /v1/deployments/:slug/migration': {
    operation: 'monitoring.migration',
    admitted: READERS,
    query: 'challenger_id=<challenger>',
    success: NO_CHALLENGER,
  },
}
