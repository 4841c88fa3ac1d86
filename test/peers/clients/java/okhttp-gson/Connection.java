import org.openapitools.client.ApiClient;

/** A client of the service, with a token where there is one. */
class Connection {
  static ApiClient to(String token) {
    ApiClient client = new ApiClient();
    client.setBasePath(System.getenv("BASE_URL"));
    if (token != null) client.addDefaultHeader("Authorization", "Bearer " + token);
    return client;
  }
}
