import com.google.common.io.ByteStreams;
import com.google.common.util.concurrent.ListenableFuture;
import com.google.common.util.concurrent.MoreExecutors;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.ClientCalls;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/** Calls a server with grpc-java on Netty: `Client HOST:PORT CALLS`. Writes what it saw as one line of JSON. */
final class Client {
  /** Calls that may be open at the same time under load. */
  private static final int WINDOW = 200;

  private static final MethodDescriptor.Marshaller<byte[]> BYTES =
      new MethodDescriptor.Marshaller<byte[]>() {
        @Override
        public InputStream stream(byte[] value) {
          return new ByteArrayInputStream(value);
        }

        @Override
        public byte[] parse(InputStream stream) {
          try {
            return ByteStreams.toByteArray(stream);
          } catch (IOException failure) {
            throw new UncheckedIOException(failure);
          }
        }
      };

  private final ManagedChannel channel;
  private final Map<String, Integer> outcomes = new ConcurrentHashMap<>();

  private Client(ManagedChannel channel) {
    this.channel = channel;
  }

  public static void main(String[] arguments) throws Exception {
    String[] address = arguments[0].split(":");
    ManagedChannel channel =
        NettyChannelBuilder.forAddress(address[0], Integer.parseInt(address[1])).usePlaintext().build();
    Client client = new Client(channel);
    byte[] large = new byte[1_000_000];
    Arrays.fill(large, (byte) 'x');
    CallOptions plain = CallOptions.DEFAULT;
    CallOptions gzip = plain.withCompression("gzip");
    String echo = client.text("Echo", bytes("hello"), plain);
    boolean isLarge = Arrays.equals(large, client.call("Echo", large, plain));
    boolean isGzip = Arrays.equals(large, client.call("Echo", large, gzip));
    String encoding = client.text("Encoding", large, gzip);
    String deadline = client.statusOf(plain.withDeadlineAfter(100, TimeUnit.MILLISECONDS));
    client.load(Integer.parseInt(arguments[1]));
    channel.shutdown().awaitTermination(10, TimeUnit.SECONDS);
    System.out.printf(
        "{\"echo\":\"%s\",\"large\":%b,\"gzip\":%b,\"encoding\":\"%s\",\"deadline\":\"%s\",\"load\":%s}%n",
        echo, isLarge, isGzip, encoding, deadline, client.outcomesAsJson());
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private ClientCall<byte[], byte[]> newCall(String method, CallOptions options) {
    MethodDescriptor<byte[], byte[]> descriptor =
        MethodDescriptor.newBuilder(BYTES, BYTES)
            .setType(MethodDescriptor.MethodType.UNARY)
            .setFullMethodName("s/" + method)
            .build();
    return channel.newCall(descriptor, options);
  }

  private byte[] call(String method, byte[] request, CallOptions options) {
    return ClientCalls.blockingUnaryCall(newCall(method, options), request);
  }

  private String text(String method, byte[] request, CallOptions options) {
    return new String(call(method, request, options), StandardCharsets.UTF_8);
  }

  private String statusOf(CallOptions options) {
    try {
      call("Silent", bytes(""), options);
      return "OK";
    } catch (RuntimeException failure) {
      return Status.fromThrowable(failure).getCode().name();
    }
  }

  /** Every fourth call is cancelled as soon as it has begun: Netty sends its HEADERS, RST_STREAM, and then its DATA. */
  private void load(int calls) throws InterruptedException {
    Semaphore open = new Semaphore(WINDOW);
    byte[] request = bytes("hello");
    for (int i = 0; i < calls; i++) {
      open.acquire();
      ListenableFuture<byte[]> answer =
          ClientCalls.futureUnaryCall(newCall("Echo", CallOptions.DEFAULT), request);
      answer.addListener(
          () -> {
            outcomes.merge(outcomeOf(answer, request), 1, Integer::sum);
            open.release();
          },
          MoreExecutors.directExecutor());
      if (i % 4 == 3) answer.cancel(true);
    }
    open.acquire(WINDOW);
  }

  private static String outcomeOf(ListenableFuture<byte[]> answer, byte[] expected) {
    if (answer.isCancelled()) return "cancelled";
    try {
      return Arrays.equals(answer.get(), expected) ? "ok" : "wrong";
    } catch (Exception failure) {
      return Status.fromThrowable(failure).toString().replaceAll("[^\\w ,.:=/-]", "'");
    }
  }

  private String outcomesAsJson() {
    StringBuilder json = new StringBuilder("{");
    outcomes.forEach(
        (outcome, count) ->
            json.append(json.length() > 1 ? "," : "").append('"').append(outcome).append("\":").append(count));
    return json.append('}').toString();
  }
}
