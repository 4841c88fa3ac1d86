import type { Route } from './routes.ts'

/** As `ROUTES`, of reasons and their baselines. */
export const REASON_ROUTES: Readonly<Record<string, Route>> = {
  'POST /v1/deployments/:slug/reason-baselines': {
    operation: 'reason_baselines.create',
    admitted: ['owner', 'admin', 'lead_modeler'],
    success: '404 model_not_found',
    body: { model_id: 'mod_0', method: 'mean_all' },
    naming: [{ model_id: '<model>', method: 'mean_all' }],
  },
  'GET /v1/deployments/:slug/reason-baselines': {
    operation: 'reason_baselines.list',
    admitted: 'member or read key',
  },
  'PUT /v1/deployments/:slug/reason-baseline': {
    operation: 'reason_baselines.put',
    admitted: ['owner', 'admin', 'lead_modeler'],
    success: '404 model_not_found',
    body: { model_id: 'mod_0', baseline_id: 'rbl_0' },
    naming: [{ model_id: '<model>', baseline_id: 'rbl_0' }],
  },
  'POST /v1/deployments/:slug/reason-method-report': {
    operation: 'reasons.method_report',
    admitted: 'member or read key',
    success: '422 reasons_not_configured',
    body: { methods: ['mean_all', 'max'], cutoff: 500 },
  },
  'GET /v1/deployments/:slug/reason-counts': {
    operation: 'reasons.counts',
    admitted: 'member or read key',
    success: '422 reasons_not_configured',
  },
}
