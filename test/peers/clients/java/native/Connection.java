import org.openapitools.client.ApiClient;

/** A client of the service, with a token where there is one. */
class Connection {
  static ApiClient to(String token) {
    ApiClient client = new ApiClient();
    client.updateBaseUri(System.getenv("BASE_URL"));
    if (token != null) {
      client.setRequestInterceptor(
          request -> request.setHeader("Authorization", "Bearer " + token));
    }
    return client;
  }
}
