import type { Deployed } from './service.ts'

/** The part of a deploy that its response shows. */
type DeployedAnswer = Omit<Deployed, 'model'> & {
  readonly model: Pick<Deployed['model'], 'id' | 'name' | 'version'>
}

/**
 * Response fields of a deploy.
 *
 * @param baseUrl URL under which callers reach the service
 */
export function deployedFields({ model, deployment, warnings }: DeployedAnswer, baseUrl: string) {
  return {
    model_id: model.id,
    name: model.name,
    version: model.version,
    deployment: deployment && {
      id: deployment.id,
      slug: deployment.id,
      endpoint: `${baseUrl}/v1/score/${deployment.id}`,
      status: 'active' as const,
    },
    ...(warnings.length > 0 && { spec_warnings: [...warnings] }),
  }
}
