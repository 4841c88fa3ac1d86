import type { Deployed } from './service.ts'

/** The part of a deploy that its response shows. */
type DeployedAnswer = Omit<Deployed, 'model'> & {
  readonly model: Pick<Deployed['model'], 'id' | 'name' | 'version' | 'specSha256'>
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
    spec_sha256: model.specSha256,
    deployment: deployment && {
      id: deployment.id,
      slug: deployment.id,
      endpoint: `${baseUrl}/v1/score/${deployment.id}`,
      status: 'active' as const,
    },
    ...(warnings.length > 0 && { spec_warnings: [...warnings] }),
  }
}
