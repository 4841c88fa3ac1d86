import { useDeployment, useModel } from '../../api/deployments.ts'
import { EnvironmentBadge } from '../../ui/page.tsx'

/** The product and environment of a deployment: a dialog hides the head of the page. */
export function Subject({ slug }: { slug: string }) {
  const { data: deployment } = useDeployment(slug)
  const { data: champion } = useModel(deployment?.champion_model.id, true)
  return (
    <p>
      <bdi>{deployment?.name ?? slug}</bdi>{' '}
      {champion && <EnvironmentBadge name={champion.environment} />}
    </p>
  )
}
